//! Drives a headless Chromium over a pipe: the DevTools protocol is JSON with a zero byte between messages, so that it
//! needs neither a client library nor a socket.

#![allow(dead_code, reason = "each user needs only a part")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write, stderr};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Program names tried, unless `CHROMIUM` has a path.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// Number of checks of a condition before it fails, and the pause between them.
const CHECKS: u32 = 1200;
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Finds the browser to test with, and reports on standard error if there is none, so that skipped tests are visible.
pub fn find() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path)
        .flat_map(|dir| NAMES.iter().map(move |name| dir.join(name)).collect::<Vec<_>>());
    let found = named.or_else(|| places.find(|place| place.is_file()));
    if found.is_none() {
        // Bypasses the test runner, which hides the output of passing tests.
        let _ = writeln!(
            stderr(),
            "skipped: there is no Chromium (none of {NAMES:?} in PATH, and CHROMIUM names none)"
        );
    }
    found
}

/// A browser with one tab, closed on drop.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    last: u64,
    /// Events: console messages, exceptions, requests.
    pub events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts the browser with an empty profile.
    pub fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().expect("a directory for the profile");
        // The browser reads from descriptor 3 and writes to 4; a shell connects our pipes to these.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 1>&2"])
            .arg(program)
            .args(["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-dev-shm-usage",
                "--mute-audio",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell that starts the browser");
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser =
            Self { child, to, from, session: String::new(), last: 0, events: Vec::new(), _profile: profile };
        let targets = browser.call("Target.getTargets", json!({}));
        let tab = targets["targetInfos"].as_array().unwrap().iter().find(|target| target["type"] == "page");
        let tab = tab.expect("a tab")["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": tab, "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Calls a method and waits for its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).expect("the browser answers");
            assert_eq!(bytes.pop(), Some(0), "the browser has ended during {method}");
            let message: Value = serde_json::from_slice(&bytes).expect("messages are JSON");
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// Sets the tab's size, of a desktop or a phone.
    pub fn resize(&mut self, width: u32, height: u32, mobile: bool) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        self.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": mobile, "maxTouchPoints": 2 }));
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        let name = file.file_name().unwrap().to_str().unwrap();
        self.until(&format!("location.pathname.endsWith('/{name}') && document.readyState === 'complete'"));
    }

    /// Evaluates an expression, and awaits it if it is a promise.
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[allow(clippy::disallowed_methods, reason = "the browser uses real time")]
    pub fn until(&mut self, expression: &str) {
        for _ in 0..CHECKS {
            // A loading page may not have the elements yet.
            let parameters = json!({ "expression": expression, "returnByValue": true });
            if self.call("Runtime.evaluate", parameters)["result"]["value"] == true {
                return;
            }
            sleep(CHECK_INTERVAL);
        }
        panic!("this never came true: {expression}");
    }

    /// Scrolls an element into view. Returns its centre and size on the screen.
    pub fn place(&mut self, selector: &str) -> [f64; 4] {
        let script = format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2, b.width, b.height]; }})()",
            json!(selector)
        );
        serde_json::from_value(self.value(&script)).unwrap_or_else(|_| panic!("no {selector}"))
    }

    pub fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let pressed = if kind == "mouseMoved" { 0 } else { 1 };
        let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": pressed, "clickCount": pressed });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Drags the mouse from one point to another.
    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.mouse("mouseMoved", from.0, from.1);
        self.mouse("mousePressed", from.0, from.1);
        for step in 1..=4 {
            let share = f64::from(step) / 4.0;
            let (x, y) = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            let event = json!({ "type": "mouseMoved", "x": x, "y": y, "button": "left", "buttons": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
        self.mouse("mouseReleased", to.0, to.1);
    }

    pub fn click(&mut self, selector: &str) {
        let [x, y, ..] = self.place(selector);
        self.mouse("mousePressed", x, y);
        self.mouse("mouseReleased", x, y);
    }

    /// Dispatches a touch event; no points lift all fingers.
    pub fn fingers(&mut self, kind: &str, points: &[(f64, f64)]) {
        let points: Vec<Value> =
            points.iter().enumerate().map(|(id, (x, y))| json!({ "x": x, "y": y, "id": id })).collect();
        self.call("Input.dispatchTouchEvent", json!({ "type": kind, "touchPoints": points }));
    }

    /// Presses a key, by its name or character.
    pub fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key }));
        }
    }

    /// Returns events that a page must not cause: errors on the console, exceptions, requests for other than local
    /// files.
    pub fn complaints(&mut self) -> Vec<String> {
        self.value("0");
        let is_one = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => true,
            "Runtime.consoleAPICalled" => {
                matches!(event["params"]["type"].as_str(), Some("error" | "warning"))
            }
            "Log.entryAdded" => event["params"]["entry"]["level"] == "error",
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                !["file:", "data:", "blob:", "about:"].iter().any(|scheme| url.starts_with(scheme))
            }
            _ => false,
        };
        self.events.iter().filter(is_one).map(Value::to_string).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.child.wait();
    }
}
