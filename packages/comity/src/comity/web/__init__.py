"""The web page of `comity serve`: a robots.txt workbench and a crawl's dashboard. It decides nothing itself. Extra
`web`."""
