/** The panel's page begins: the link of where it is shown, and the app on it, in place of the frame that the page came with. */
import "./words";
import { render } from "preact";
import { Panel } from "./app/panel";
import { browserLink } from "./links/browser";
import { webviewLink } from "./links/webview";
import { App } from "./view/app";
import { readLater } from "./view/later";

const api = window.acquireVsCodeApi?.();
const panel = new Panel(api === undefined ? browserLink() : webviewLink(api));
const root = document.getElementById("panel");
if (root !== null) {
  const field = root.querySelector("textarea");
  const [typed, focused] = [field?.value ?? "", field !== null && document.activeElement === field];
  root.replaceChildren();
  render(<App panel={panel} />, root);
  if (typed !== "") {
    panel.offer({ text: typed, attached: [] });
  }
  if (focused) {
    root.querySelector("textarea")?.focus();
  }
  performance.mark("panel"); // for `make bench-panel`
  void panel.start();
  readLater();
}
