/** Pictures, documents, sound and film in the words of Converse, which takes them inside the body and knows them by their format. */
import { decode } from '../../protocols/json/text.ts'
import type { MediaPart } from '../ask.ts'
import { type Losses, Untranslatable } from '../events.ts'
import { type JsonText, type Literal, literal, object } from '../json/literal.ts'

/** The formats of each kind of media, by media type. */
const FORMATS: Readonly<Record<MediaPart['kind'], Readonly<Record<string, string>>>> = {
  image: {
    'image/png': 'png',
    'image/jpeg': 'jpeg',
    'image/jpg': 'jpeg',
    'image/gif': 'gif',
    'image/webp': 'webp',
  },
  document: {
    'application/pdf': 'pdf',
    'text/csv': 'csv',
    'application/msword': 'doc',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
    'application/vnd.ms-excel': 'xls',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
    'text/html': 'html',
    'text/plain': 'txt',
    'text/markdown': 'md',
  },
  audio: {
    'audio/mpeg': 'mp3',
    'audio/mp3': 'mp3',
    'audio/wav': 'wav',
    'audio/x-wav': 'wav',
    'audio/flac': 'flac',
    'audio/ogg': 'ogg',
    'audio/opus': 'opus',
    'audio/aac': 'aac',
    'audio/mp4': 'mp4',
    'audio/webm': 'webm',
  },
  video: {
    'video/mp4': 'mp4',
    'video/quicktime': 'mov',
    'video/x-matroska': 'mkv',
    'video/webm': 'webm',
    'video/x-flv': 'flv',
    'video/mpeg': 'mpeg',
    'video/x-ms-wmv': 'wmv',
    'video/3gpp': 'three_gp',
  },
}
/** The media type of what does not say its own. */
const USUAL: Readonly<Record<MediaPart['kind'], string>> = {
  image: 'image/png',
  document: 'application/pdf',
  audio: 'audio/wav',
  video: 'video/mp4',
}

/** Throws `Untranslatable` for what stands elsewhere, or has a format that nobody knows there. */
export function mediaOf(part: MediaPart, documents: Documents): JsonText {
  const { kind, mime, base64, url, text } = part
  if (url !== undefined) throw new Untranslatable(`${kind}.url`)
  const type = (mime ?? USUAL[kind]).toLowerCase().split(';', 1)[0] as string
  const format = text === undefined ? FORMATS[kind][type] : 'txt'
  if (format === undefined || (base64 === undefined && text === undefined)) throw new Untranslatable(kind)
  const name = kind === 'document' ? documents.nameOf(part.name) : undefined
  return object({ [kind]: object({ format: `"${format}"`, name, source: object({ bytes: base64, text }) }) })
}

const LONGEST_NAME = 200
/** The most characters of a name that are kept where it gets a number behind it. */
const LONGEST_BASE = 180
const UNNAMED = 'document'

/** The names of documents, which are letters, digits and a few signs, and differ from each other. */
export class Documents {
  readonly #losses: Losses
  readonly #taken = new Set<string>()
  readonly #numbers = new Map<string, number>()

  constructor(losses: Losses) {
    this.#losses = losses
  }

  nameOf(said: Literal | undefined): Literal {
    const asked = said === undefined ? UNNAMED : (decode(said) ?? '')
    const known = asked
      .replace(/[^A-Za-z0-9\s()[\]-]/g, '-')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, LONGEST_NAME)
    let name = known === '' ? UNNAMED : known
    const base = name.slice(0, LONGEST_BASE).trimEnd()
    while (this.#taken.has(name)) {
      const number = (this.#numbers.get(base) ?? 1) + 1
      this.#numbers.set(base, number)
      name = `${base} (${number})`
    }
    this.#taken.add(name)
    if (said !== undefined && name !== asked) this.#losses.add('documents')
    return literal(name)
  }
}
