/** Reads multipart forms, which a few paths take in the place of JSON. A file is known by its name and size only. */
import type { Fields } from './speech.ts'

const BOUNDARY = /^multipart\/form-data;.*boundary=(?:"([^"]+)"|([^\s;]+))/i
const NAME = /name="([^"]*)"/i
const FILE = /filename="([^"]*)"/i
const NUMBERS = new Set(['n', 'partial_images'])

/** Returns null when the type is not that of a form. A field that is there several times is a list. */
export function formOf(type: string, body: Buffer): Fields | null {
  const [, quoted, token] = BOUNDARY.exec(type) ?? []
  const boundary = quoted ?? token
  if (boundary === undefined) return null
  const fields: Fields = {}
  for (const part of body.toString('latin1').split(`--${boundary}`).slice(1, -1)) {
    const at = part.indexOf('\r\n\r\n')
    const head = part.slice(0, at)
    const content = part.slice(at + 4, -2)
    const name = (NAME.exec(head)?.[1] ?? '').replace(/\[\]$/, '')
    const file = FILE.exec(head)?.[1]
    const value =
      file === undefined ? textValue(name, Buffer.from(content, 'latin1').toString()) : { file, bytes: content.length }
    fields[name] = fields[name] === undefined ? value : [fields[name], value].flat()
  }
  return fields
}

function textValue(name: string, text: string): unknown {
  if (NUMBERS.has(name)) return Number(text)
  return name === 'stream' ? text === 'true' : text
}
