/**
 * Reads what a newer daemon may say: one word that is not known here must not make a whole list unreadable. The wire's types decide
 * what may be sent all the same: see `agreement`.
 */
import * as z from "zod";

/** One of these words; one that is not known is read as `other`, which has to be harmless. */
export function oneOf<const Word extends string, const Other extends string>(
  words: readonly Word[],
  other: Other,
): z.ZodType<Word | Other, Word> {
  const read = z.string().transform((said): Word | Other => words.find((word) => word === said) ?? other);
  return read as unknown as z.ZodType<Word | Other, Word>;
}

/** Those that can be read; others are left out, as if they had not been offered. */
export function knownOf<Shape extends z.ZodType>(shape: Shape): z.ZodType<z.output<Shape>[], z.input<Shape>[]> {
  const read = z
    .array(z.unknown())
    .transform((all) => all.map((each) => shape.safeParse(each)).flatMap((each) => (each.success ? [each.data] : [])));
  return read as unknown as z.ZodType<z.output<Shape>[], z.input<Shape>[]>;
}
