/** The panel's page begins: the link of where it is shown, and the app on it. */
import { render } from "preact";
import { Panel } from "./app/panel";
import { browserLink } from "./links/browser";
import { webviewLink } from "./links/webview";
import { App } from "./view/app";

const api = window.acquireVsCodeApi?.();
const panel = new Panel(api === undefined ? browserLink() : webviewLink(api));
const root = document.getElementById("panel");
if (root !== null) {
  render(<App panel={panel} />, root);
  void panel.start();
}
