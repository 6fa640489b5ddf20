/** Texts and media, for upstreams that speak generate-content. */
import type { Losses, MediaPart, TextPart } from '../ask.ts'
import { join, type Literal, literal, type Source } from '../json/literal.ts'
import { object } from '../json/write.ts'
import { Untranslatable } from '../loss.ts'

const TYPES: Readonly<Record<string, string>> = { png: 'png', gif: 'gif', webp: 'webp', heic: 'heic', heif: 'heif' }
const ENDING = /\.(\w{3,4})$/
const LONGEST_ENDING = 5
const MIMES: Readonly<Record<MediaPart['kind'], string>> = {
  image: 'image/jpeg',
  document: 'application/pdf',
  audio: 'audio/wav',
  video: 'video/mp4',
}

export function partOf(part: TextPart | MediaPart, losses: Losses): Source {
  if (part.type === 'text') return object({ text: part.text })
  const { kind, base64, url, text, name } = part
  if (text !== undefined) return object({ text: name === undefined ? text : join([name, text], '\\n\\n') })
  if (name !== undefined) losses.add('documents')
  const mimeType = literal(mimeOf(part))
  if (url !== undefined) return object({ fileData: object({ mimeType, fileUri: url }) })
  if (base64 === undefined) throw new Untranslatable(kind)
  return object({ inlineData: object({ mimeType, data: base64 }) })
}

function mimeOf({ mime, kind, url }: MediaPart): string {
  if (mime !== null) return mime
  const ending = kind === 'image' && url !== undefined ? endingOf(url) : undefined
  if (ending !== undefined && Object.hasOwn(TYPES, ending)) return `image/${TYPES[ending]}`
  return kind === 'image' && url === undefined ? 'image/png' : MIMES[kind]
}

/** Of the path of an address, before its query. */
function endingOf(url: Literal): string | undefined {
  const query = url.search(/[?#]/)
  const path = url.slice(1, query < 0 ? -1 : query)
  return ENDING.exec(path.slice(-LONGEST_ENDING))?.[1]?.toLowerCase()
}
