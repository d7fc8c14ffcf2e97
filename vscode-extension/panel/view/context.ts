/** The panel, for every component below `App`. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Panel } from "../app/panel";

export const PanelContext = createContext<Panel | undefined>(undefined);

export function usePanel(): Panel {
  const panel = useContext(PanelContext);
  if (panel === undefined) {
    throw new Error("A component stands outside of App.");
  }
  return panel;
}
