"""The page of `comity serve`: a workbench for robots.txt, a dashboard of a crawl. It knows no rule. Extra `web`."""
