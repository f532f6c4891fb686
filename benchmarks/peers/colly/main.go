// Colly on the site of benchmarks/crawl.py: `colly START MOST OUTPUT`. It keeps robots.txt, follows the links of each
// page and writes URL and body of it as a line of JSON; a ledger and a frontier on disk it has not.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocolly/colly/v2"
)

func main() {
	start, output := os.Args[1], os.Args[3]
	most, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil {
		panic(err)
	}
	file, err := os.Create(output)
	if err != nil {
		panic(err)
	}
	buffer := bufio.NewWriterSize(file, 1<<20)
	lines := json.NewEncoder(buffer)
	var writing sync.Mutex
	var asked, kept atomic.Int64

	crawler := colly.NewCollector(colly.UserAgent("Bench/1.0"), colly.Async(true), colly.AllowedDomains("127.0.0.1"))
	crawler.IgnoreRobotsTxt = false
	if err := crawler.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 32}); err != nil {
		panic(err)
	}
	crawler.OnRequest(func(request *colly.Request) {
		if asked.Add(1) > most {
			request.Abort()
		}
	})
	crawler.OnResponse(func(response *colly.Response) {
		kept.Add(1)
		writing.Lock()
		defer writing.Unlock()
		line := map[string]any{"url": response.Request.URL.String(), "status": response.StatusCode, "body": string(response.Body)}
		if err := lines.Encode(line); err != nil {
			panic(err)
		}
	})
	crawler.OnHTML("a[href]", func(element *colly.HTMLElement) {
		if kept.Load() < most {
			_ = element.Request.Visit(element.Attr("href"))
		}
	})
	started := time.Now()
	if err := crawler.Visit(start); err != nil {
		panic(err)
	}
	crawler.Wait()
	if err := buffer.Flush(); err != nil {
		panic(err)
	}
	fmt.Println(time.Since(started).Seconds())
}
