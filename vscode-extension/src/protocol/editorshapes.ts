/**
 * `_sould/editor/call`, read where it arrives, and what is answered to it. sould has checked the arguments by the catalogue already
 * (docs/schemas/editor/catalogue.json); each tool reads the ones it needs.
 */
import * as z from "zod";
import type { Agree, Agreed } from "./agreement";
import type * as wire from "./editor";

const position = z.object({ line: z.number(), column: z.number().default(1) });

export const editorCall = z.object({
  tool: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  root: z.string(),
  directories: z.array(z.string()).default([]),
  at: position.nullable().default(null),
  digest: z.string().default(""),
  sessionId: z.string().default(""),
});

export type EditorCall = z.infer<typeof editorCall>;
export type CallResult = wire.CallResult;
export type FileEdits = wire.FileEditsParams;
export type Span = wire.SpanParams;
export type State = wire.StateParams;

/** The parts that are not free are as docs/schemas/editor says they are. */
export type EditorAgreement = Agreed<[Agree<typeof position, wire.Position>]>;
