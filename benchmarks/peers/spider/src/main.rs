//! spider on the site of benchmarks/crawl.py: `bench-spider START MOST OUTPUT`. It keeps robots.txt, follows the links
//! of each page and writes URL and length of it as a line of JSON; bodies, a ledger and a frontier on disk it has not.

use std::io::Write;

use spider::tokio;
use spider::website::Website;

#[tokio::main]
async fn main() {
    let given: Vec<String> = std::env::args().collect();
    let (start, most, output) = (&given[1], given[2].parse().unwrap(), &given[3]);
    let mut out = std::io::BufWriter::new(std::fs::File::create(output).unwrap());
    let mut website = Website::new(start);
    website
        .with_user_agent(Some("Bench/1.0"))
        .with_respect_robots_txt(true)
        .with_concurrency_limit(Some(32))
        .with_delay(0)
        .with_limit(most);
    let mut pages = website.subscribe(1 << 16);
    let writer = tokio::spawn(async move {
        while let Ok(page) = pages.recv().await {
            if page.status_code.is_success() {
                let length = page.get_html_bytes_u8().len();
                writeln!(out, "{{\"url\":\"{}\",\"length\":{}}}", page.get_url(), length).unwrap();
            }
        }
        out.flush().unwrap();
    });
    let started = std::time::Instant::now();
    website.crawl().await;
    website.unsubscribe();
    drop(website);
    writer.await.unwrap();
    println!("{}", started.elapsed().as_secs_f64());
}
