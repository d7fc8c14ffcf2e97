/** The link in VS Code: messages are posted to the extension, colours and theme come from VS Code itself. */
import type { Kept, Link, Message, Place, Theme } from "../link";
import { object } from "../session/read";
import { Asking } from "./asking";

interface VsCode {
  postMessage(message: Message): void;
  getState(): unknown;
  setState(state: Kept): void;
}

declare global {
  interface Window {
    /** Only in a webview, and to be called once. */
    acquireVsCodeApi?: () => VsCode;
  }
}

export function webviewLink(api: VsCode): Link {
  const listeners: ((message: Message) => void)[] = [];
  const post = (message: Message): void => {
    api.postMessage(message);
  };
  const asking = new Asking(post);
  window.addEventListener("message", (event: MessageEvent<unknown>) => {
    const message = object(event.data);
    if (message["jsonrpc"] === "2.0" && !asking.took(message)) {
      listeners.forEach((listener) => {
        listener(message as unknown as Message);
      });
    }
  });
  return {
    send: post,
    onMessage: (listener) => {
      listeners.push(listener);
    },
    openFile: (place: Place) => {
      post({ jsonrpc: "2.0", method: "_panel/openFile", params: place });
    },
    pickFile: () => asking.pickFile(),
    saveFile: (name, words) => asking.saveFile(name, words),
    get theme() {
      return themeOf(document.body);
    },
    onTheme: (listener) => {
      new MutationObserver(() => {
        listener(themeOf(document.body));
      }).observe(document.body, { attributeFilter: ["class"] });
    },
    get state() {
      return object(api.getState());
    },
    set state(state: Kept) {
      api.setState(state);
    },
  };
}

function themeOf(body: HTMLElement): Theme {
  if (body.classList.contains("vscode-high-contrast-light")) {
    return "high-contrast-light";
  }
  if (body.classList.contains("vscode-high-contrast")) {
    return "high-contrast";
  }
  return body.classList.contains("vscode-light") ? "light" : "dark";
}
