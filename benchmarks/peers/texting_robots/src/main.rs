// Answers questions about robots.txt files with texting_robots: a line of JSON in, a line of JSON out.
use base64::{engine::general_purpose::STANDARD, Engine};
use serde_json::{json, Value};
use std::io::{self, BufRead, Write};
use std::panic;
use std::time::Instant;
use texting_robots::Robot;

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let out = io::stdout();
    for line in io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let body = STANDARD.decode(asked["body"].as_str().unwrap()).unwrap();
        let mut answers = Vec::new();
        let began = Instant::now();
        for case in asked["cases"].as_array().unwrap() {
            let (agent, url) = (case[0].as_str().unwrap(), case[1].as_str().unwrap());
            let answer = panic::catch_unwind(|| Robot::new(agent, &body).map(|robot| robot.allowed(url)));
            answers.push(match answer { Ok(Ok(true)) => 1, Ok(Ok(false)) => 0, _ => -1 });
        }
        let seconds = began.elapsed().as_secs_f64();
        writeln!(out.lock(), "{}", json!({"answers": answers, "seconds": seconds})).unwrap();
    }
}
