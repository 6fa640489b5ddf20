/** Cells of CSV files, which people open in spreadsheets. */

/**
 * A spreadsheet takes a text that begins so for a formula. Some take the wide forms of these characters too, and some pass
 * over blanks before them.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/

/** `foreign`: whether the value is a text that clients, upstreams or people choose, which gets a mark if it could act. */
export function csvCell(value: unknown, foreign: boolean): string {
  const text = value === null || value === undefined ? '' : String(value)
  const safe = foreign && FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
