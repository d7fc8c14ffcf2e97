/** Whether the shapes that messages are read by are those of docs/schemas. Types only. */
import type { input, ZodType } from "zod";

/** Nothing left out: then each has what the other has, or neither is the other. */
type Solid<T> = T extends (infer Each)[]
  ? Solid<Each>[]
  : T extends object
    ? { [Key in keyof T]-?: Solid<Exclude<T[Key], undefined>> }
    : T;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/** Whether a shape reads just what the type says is sent. */
export type Agree<Shape extends ZodType, Wire> = Same<Solid<input<Shape>>, Solid<Wire>>;

/** Does not compile when one of them is not. */
export type Agreed<Each extends true[]> = Each;
