/** Addresses that have their data in them: `data:image/png;base64,…`. */
import { type Literal, literal, textOf } from './json/literal.ts'

/** All before the data is short, and may have escaped slashes. */
const LONGEST_HEAD = 300
const BASE64 = 'base64,'
const HEAD = /^data:([^;,]*)(?:;[^,]*)?;base64,$/i

/** What is in it; null = it is another address. */
export function dataUrl(url: Literal): { mime: string; base64: Literal } | null {
  const at = url.slice(0, LONGEST_HEAD).indexOf(BASE64)
  if (at < 0) return null
  const end = at + BASE64.length
  const found = HEAD.exec(textOf(`${url.slice(0, end)}"`) ?? '')
  return found === null ? null : { mime: found[1] as string, base64: `"${url.slice(end)}` }
}

export const asDataUrl = (mime: string, base64: Literal): Literal =>
  `${literal(`data:${mime};base64,`).slice(0, -1)}${base64.slice(1)}`
