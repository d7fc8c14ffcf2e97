/** The link in a plain browser: a WebSocket to `scripts/panel.mjs`, which served this page and runs `sould acp` for it. */
import type { ConnectionState, Kept, Link, Message, Place, Theme } from "../link";
import { object } from "../session/read";
import { Asking } from "./asking";

const STATE = "sould.panel";
const RETRY = 500;

export function browserLink(): Link {
  const socket = new Socket();
  socket.open();
  const contrast = matchMedia("(prefers-contrast: more)");
  const light = matchMedia("(prefers-color-scheme: light)");
  const themed: ((theme: Theme) => void)[] = [];
  const show = (): void => {
    const theme = themeOf(light.matches, contrast.matches);
    document.body.className = `browser vscode-${theme}`;
    themed.forEach((listener) => {
      listener(theme);
    });
  };
  show();
  contrast.addEventListener("change", show);
  light.addEventListener("change", show);
  return {
    send: (message) => {
      socket.send(message);
    },
    onMessage: (listener) => {
      socket.listeners.push(listener);
    },
    openFile: (place: Place) => {
      socket.send({ jsonrpc: "2.0", method: "_panel/openFile", params: place });
    },
    pickFile: () => socket.asking.pickFile(),
    saveFile: (name, words) => {
      download(name, words);
      return Promise.resolve();
    },
    get theme() {
      return themeOf(light.matches, contrast.matches);
    },
    onTheme: (listener) => {
      themed.push(listener);
    },
    get state() {
      return kept();
    },
    set state(state: Kept) {
      sessionStorage.setItem(STATE, JSON.stringify(state));
    },
  };
}

/** As browsers save files. */
function download(name: string, words: string): void {
  const address = URL.createObjectURL(new Blob([words], { type: "text/markdown" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(address);
  }, 60_000);
}

function kept(): Kept {
  try {
    return object(JSON.parse(sessionStorage.getItem(STATE) ?? "{}"));
  } catch {
    return {};
  }
}

function themeOf(light: boolean, contrast: boolean): Theme {
  if (contrast) {
    return light ? "high-contrast-light" : "high-contrast";
  }
  return light ? "light" : "dark";
}

/** Comes back by itself. What is sent while it is closed is lost, as with any connection: the panel asks anew. */
class Socket {
  readonly listeners: ((message: Message) => void)[] = [];
  readonly asking = new Asking((message) => {
    this.send(message);
  });
  #socket: WebSocket | undefined;
  /** What is sent before the first connection stands. */
  #early: Message[] = [];

  open(): void {
    const address = new URL("link", location.href);
    address.protocol = "ws:";
    address.search = location.search;
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.addEventListener("open", () => {
      const early = this.#early;
      this.#early = [];
      early.forEach((message) => {
        this.send(message);
      });
    });
    socket.addEventListener("message", (event: MessageEvent<string>) => {
      this.#take(object(JSON.parse(event.data)));
    });
    socket.addEventListener("close", () => {
      const params: ConnectionState = {
        state: "waiting",
        problem: "The program behind this page has ended: run make panel again.",
        version: "",
      };
      this.#tell({ jsonrpc: "2.0", method: "_panel/connection", params });
      setTimeout(() => {
        this.open();
      }, RETRY);
    });
  }

  send(message: Message): void {
    if (this.#socket?.readyState === WebSocket.OPEN) {
      this.#socket.send(JSON.stringify(message));
    } else if (this.#socket?.readyState === WebSocket.CONNECTING) {
      this.#early.push(message);
    }
  }

  #take(message: Readonly<Record<string, unknown>>): void {
    if (!this.asking.took(message)) {
      this.#tell(message as unknown as Message);
    }
  }

  #tell(message: Message): void {
    this.listeners.forEach((listener) => {
      listener(message);
    });
  }
}
