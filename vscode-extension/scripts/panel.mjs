// The agent panel in a plain browser: `node scripts/panel.mjs FOLDER...` serves dist/panel.js on 127.0.0.1 and says the address.
//
// Whoever has the address has the agent: it carries a token, which every request must show, and a page of another origin is refused.
// A WebSocket carries the messages between the page and a `sould acp` of its own, which ends with the page. SOULD names the program.
import { execFile, spawn } from "node:child_process";
import { randomBytes, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import readline from "node:readline";
import { WebSocketServer } from "ws";
import { frame } from "../panel/frame.ts";
import { login } from "../src/panel/login.ts";
import { best } from "../src/panel/search.ts";

const roots = (process.argv.length > 2 ? process.argv.slice(2) : [process.cwd()]).map((root) => path.resolve(root));
const sould = process.env.SOULD ?? "sould";
const token = randomBytes(24).toString("base64url");
const FILES = { "/panel.js": "text/javascript", "/panel-markdown.js": "text/javascript", "/panel.css": "text/css" };
const POLICY =
  "default-src 'none'; img-src 'self' data: blob:; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const LONGEST_LINE = 256 * 1024 * 1024;
const PAGE = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${token}/panel.css">
<script type="module" src="${token}/panel.js"></script>
<title>sould</title>
</head>
<body class="browser">
<div id="panel">${frame((english) => english)}</div>
</body>
</html>
`;

const server = createServer((request, response) => {
  const address = addressOf(request);
  const { pathname } = address ?? { pathname: "" };
  const file = pathname.slice(pathname.lastIndexOf("/"));
  if (address === null) {
    response.writeHead(400, { "content-type": "text/plain" }).end("This is no address.\n");
  } else if (!isAllowed(request, address)) {
    response
      .writeHead(403, { "content-type": "text/plain" })
      .end("Open the address that the panel said when it was started.\n");
  } else if (pathname === "/") {
    response
      .writeHead(200, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": POLICY,
        "referrer-policy": "no-referrer",
      })
      .end(PAGE);
  } else if (Object.hasOwn(FILES, file)) {
    readFile(new URL(`../dist${file}`, import.meta.url)).then(
      (data) => response.writeHead(200, { "content-type": FILES[file], "cache-control": "no-store" }).end(data),
      () => response.writeHead(404).end(),
    );
  } else {
    response.writeHead(404).end();
  }
});

const sockets = new WebSocketServer({ noServer: true, maxPayload: LONGEST_LINE });
server.on("upgrade", (request, socket, head) => {
  socket.on("error", () => undefined); // told by its end
  const address = addressOf(request);
  const { origin } = request.headers;
  if (address?.pathname !== "/link" || !isAllowed(request, address) || origin !== `http://${host()}`) {
    socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
  } else {
    sockets.handleUpgrade(request, socket, head, serve);
  }
});

server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => console.log(`http://${host()}/?token=${token}`));

function host() {
  return `127.0.0.1:${server.address().port}`;
}

/** What is asked for; null where that is no address. */
function addressOf(request) {
  return URL.canParse(request.url, "http://here") ? new URL(request.url, "http://here") : null;
}

/**
 * By address, and not by another name for it, which a page elsewhere may have given it. Files have the token in their path: what they
 * import is named relative to it.
 */
function isAllowed(request, { pathname, searchParams }) {
  const shown = Buffer.from(searchParams.get("token") ?? pathname.split("/")[1]);
  const wanted = Buffer.from(token);
  return request.headers.host === host() && shown.length === wanted.length && timingSafeEqual(shown, wanted);
}

/** One page: its own `sould acp`, until either ends. */
function serve(socket) {
  const child = spawn(sould, ["acp"], { cwd: roots[0], stdio: ["pipe", "pipe", "pipe"] });
  const post = (message) => socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const connection = (state, problem) => post({ method: "_panel/connection", params: { state, problem, version: "" } });
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (words = (words + text).slice(-2000)));
  child.stdin.on("error", () => undefined); // told by its end
  readline.createInterface({ input: child.stdout, crlfDelay: Infinity }).on("line", (line) => socket.send(line));
  const ended = (problem) => {
    connection("waiting", problem);
    socket.close();
  };
  child.once("error", () => ended(`${sould} cannot be run: put sould on PATH, or name it in SOULD.`));
  child.once("close", () => ended(words.trim() || "sould acp has ended."));
  socket.on("error", () => undefined); // told by its end
  socket.on("message", (data) => {
    const message = read(data.toString());
    if (message === undefined) {
      post({ id: null, error: { code: -32700, message: "This is no message." } });
    } else if (String(message.method ?? "").startsWith("_panel/")) {
      void own(message, post);
    } else {
      child.stdin.write(`${JSON.stringify(message)}\n`);
    }
  });
  socket.on("close", () => child.stdin.end());
  connection("connected", "");
}

/** Undefined for what is no object of JSON. */
function read(text) {
  try {
    const message = JSON.parse(text);
    return message !== null && typeof message === "object" && !Array.isArray(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

/** What the other end of the link answers itself: see panel/link.ts. */
async function own({ id, method, params }, post) {
  const answers = {
    "_panel/surroundings": () => ({
      roots: roots.map((root) => ({ path: root, name: path.basename(root) })),
      canInsert: false,
      canReview: false,
      editor: "browser",
    }),
    "_panel/findFiles": find,
    "_panel/pickFile": () => ({ paths: [] }),
    "_panel/login": async ({ provider, model, key, file }) => {
      await login({ provider, model, key, file }, sould, process.env);
      return {};
    },
    "_panel/openFile": ({ path: file, line }) => console.log(`open ${file}${line ? `:${line}` : ""}`),
  };
  try {
    const answer = await answers[method]?.(params);
    if (id !== undefined) {
      post(answer ? { id, result: answer } : { id, error: { code: -32601, message: "A browser cannot do this." } });
    }
  } catch (problem) {
    post({ id: id ?? null, error: { code: -32603, message: problem.message } });
  }
}

async function find({ root, query, limit }) {
  if (!roots.includes(root)) {
    return { paths: [] };
  }
  const listed = await new Promise((resolve) => {
    execFile(
      "git",
      ["-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
      { maxBuffer: LONGEST_LINE },
      (problem, out) => resolve(problem ? "" : out),
    );
  });
  const files = [...new Set(listed.split("\0").filter(Boolean))];
  const folders = [...new Set(files.flatMap((file) => (file.includes("/") ? [`${path.dirname(file)}/`] : [])))];
  const letters = [...query.toLowerCase()];
  const fits = (name) => letters.reduce((at, letter) => (at < 0 ? at : name.indexOf(letter, at) + 1 || -1), 0) >= 0;
  const found = [...folders, ...files].filter((name) => fits(name.toLowerCase()));
  return { paths: best(found, query, limit).map((name) => `${root}/${name}`) };
}
