/** Whether the shapes that messages are read by are those of docs/schemas. Types only. */
import type { input, ZodType } from "zod";

type Solid<T> = T extends (infer Each)[]
  ? Solid<Each>[]
  : T extends object
    ? { [Key in keyof T]-?: Solid<Exclude<T[Key], undefined>> }
    : T;
// The usual test of equality: two conditional types are the same one only where A and B are.
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
/** Whether a shape reads just what the type says is sent. */
export type Agree<Shape extends ZodType, Wire> = Same<Solid<input<Shape>>, Solid<Wire>>;

/** Does not compile when one of them is not. */
export type Agreed<Each extends true[]> = Each;
