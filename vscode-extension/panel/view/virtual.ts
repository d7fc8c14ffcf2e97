/** Rows of which only those in sight are in the page, for Preact. The end is kept in sight unless the user has scrolled up. */
import {
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";

/** Pixels from the end that still count as there. */
export const AT_END = 40;
const ROW = 72;
const OVERSCAN = 6;

export type Rows = Virtualizer<HTMLElement, HTMLElement>;

export function useRows(keys: readonly string[], scroller: () => HTMLElement | null): Rows {
  const [, redraw] = useReducer<number, undefined>((count) => count + 1, 0);
  const options: VirtualizerOptions<HTMLElement, HTMLElement> = {
    count: keys.length,
    getScrollElement: scroller,
    estimateSize: () => ROW,
    getItemKey: (at) => keys[at] ?? at,
    overscan: OVERSCAN,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: AT_END,
    initialRect: { width: 400, height: 800 },
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    measureElement,
    onChange: () => {
      redraw(undefined);
    },
  };
  const [rows] = useState(() => new Virtualizer(options));
  rows.setOptions(options);
  useLayoutEffect(() => rows._didMount(), []);
  useLayoutEffect(() => {
    rows._willUpdate();
  });
  return rows;
}
