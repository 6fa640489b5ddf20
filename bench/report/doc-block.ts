/** Replaces the part of a document that a program writes, between two marker lines. */

export const blockMarks = (name: string): [begin: string, end: string] => [
  `<!-- ${name}: begin, written by a program -->`,
  `<!-- ${name}: end -->`,
]

/**
 * `text` with everything between the marks of `name` replaced. Throws when a mark is missing, doubled or in the wrong
 * order.
 */
export function replaceBlock(text: string, name: string, content: string): string {
  const [begin, end] = blockMarks(name)
  const [before, rest, again] = text.split(begin)
  const [, after, more] = (rest ?? '').split(end)
  if (before === undefined || after === undefined || again !== undefined || more !== undefined)
    throw new Error(`the document needs one line "${begin}" and after it one line "${end}"`)
  return `${before}${begin}\n\n${content.trim()}\n\n${end}${after}`
}
