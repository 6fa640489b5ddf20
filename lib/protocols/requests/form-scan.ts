/**
 * The scan of a multipart form, which finds its facts while it arrives. The form's fields are those of the protocol's
 * layout of places, as if they stood in a JSON object, and have the same readers. A file is only measured.
 *
 * What two readers could take differently is refused: a field that decides twice, in another case, with brackets behind
 * its name, as a file, or in another charset.
 */

import { SoundMeter } from '../sound/sound.ts'
import { Draft, type Facts, factsOf } from './facts.ts'
import { boundaryOf, MultipartScanner, type PartEvents, type PartHead } from './multipart.ts'
import { type Field, PlaceFrame, type Place, type Value } from './places.ts'

/** The name that clients are told of a form that is not well-formed. */
const FORM = 'multipart/form-data'
/** A field of this name changes the charset of all others, for some readers. */
const CHARSET = '_charset_'
const MOST_UPLOADS = 32
const HEAD_BYTES = 1024

export interface Upload {
  /** The name of the field, without `[]`. */
  name: string
  /** The media type in lower case; empty = none is named. */
  type: string
  bytes: number
  /** The length of its sound, where the protocol hears files; else 0. */
  seconds: number
  /** The beginning: at most 1,024 bytes. */
  head: Buffer
}

export interface FormLayout {
  place: Place
  /** Fields that may be files, several times and with `[]` behind the name too. */
  files: readonly string[]
  /** Files are measured as sound. */
  hears?: true
  /** A file has come. */
  upload(draft: Draft, upload: Upload): void
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class FormScan implements PartEvents {
  readonly #layout: FormLayout
  readonly #scanner: MultipartScanner | null
  readonly #draft = new Draft()
  readonly #frame = new PlaceFrame()
  readonly #value: Value = { kind: 'string', start: 0, end: 0, text: null }
  #bytes = 0
  #textBytes = 0
  #uploads = 0
  /** The head of the part that is read, its name without brackets, and the field that it is; null = none that matters. */
  #head: PartHead | null = null
  #name = ''
  #field: Field | null = null
  #start = 0
  #sound: SoundMeter | null = null
  #kept: Buffer[] = []
  #keptBytes = 0
  #partBytes = 0

  constructor(layout: FormLayout, contentType: string | undefined) {
    this.#layout = layout
    const boundary = boundaryOf(contentType)
    this.#scanner = boundary === null ? null : new MultipartScanner(boundary, this)
    this.#frame.reset(layout.place, false, null)
    layout.place.begin?.(this.#draft, 0)
  }

  feed(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#scanner?.feed(chunk)
  }

  part(head: PartHead, start: number): void {
    this.#head = head
    this.#start = start
    this.#kept = []
    this.#keptBytes = this.#partBytes = 0
    this.#field = this.#find(head)
    this.#sound = head.isFile && this.#layout.hears ? new SoundMeter() : null
  }

  /** Finds the field that a part is. What is refused is noticed here, whatever the content is. */
  #find({ name, isFile, isText }: PartHead): Field | null {
    const { place, files } = this.#layout
    const base = (this.#name = name.replace(/\[\d*\]$/, ''))
    const field = place.fields.get(base) ?? null
    if (files.includes(base)) return isFile ? null : field
    if (field === null) {
      const almost = place.fields.get(plainName(name)) ?? place.almost(plainName(name))
      if (almost !== null || name === CHARSET) this.#refuse(almost?.name ?? name)
      return null
    }
    if (!this.#frame.isFirst(field) || name !== base || isFile || !isText) this.#refuse(field.name)
    return field
  }

  #refuse(name: string): void {
    this.#draft.invalid ??= name
  }

  content(bytes: Buffer): void {
    const limit = this.#head?.isFile ? HEAD_BYTES : (this.#field?.limit ?? 0)
    this.#partBytes += bytes.length
    this.#sound?.feed(bytes)
    if (this.#keptBytes >= limit) return
    const kept = Buffer.from(bytes.subarray(0, limit - this.#keptBytes))
    this.#kept.push(kept)
    this.#keptBytes += kept.length
  }

  endPart(end: number): void {
    if (this.#head?.isFile) this.#endFile(this.#head)
    else {
      this.#textBytes += this.#partBytes
      this.#readField(end)
    }
  }

  #endFile({ type }: PartHead): void {
    if (++this.#uploads > MOST_UPLOADS) this.#refuse(this.#name)
    else {
      const head = Buffer.concat(this.#kept)
      const seconds = this.#sound?.seconds ?? 0
      this.#layout.upload(this.#draft, { name: this.#name, type, bytes: this.#partBytes, seconds, head })
    }
  }

  #readField(end: number): void {
    const field = this.#field
    if (field === null || field.read === null) return
    const value = this.#value
    const text = textOf(Buffer.concat(this.#kept))
    const isFlag = text !== null && FLAG.test(text)
    value.kind = isFlag ? 'scalar' : 'string'
    value.start = this.#start
    value.end = end
    value.text = text === null ? null : isFlag ? text.toLowerCase() : quoted(text, this.#partBytes <= field.limit)
    field.read(this.#draft, value, this.#frame)
  }

  end(): Facts {
    const draft = this.#draft
    if (this.#scanner !== null && !this.#scanner.complete) draft.invalid = FORM
    this.#layout.place.end?.(draft, this.#frame, this.#bytes)
    draft.mediaBytes += this.#bytes - this.#textBytes
    return factsOf(draft, this.#bytes, 0)
  }
}

const FLAG = /^(?:true|false)$/i

/** The text as readers of values take it: the Latin-1 of its JSON, without the last quote where it is not whole. */
const quoted = (text: string, isWhole: boolean): string =>
  Buffer.from(isWhole ? JSON.stringify(text) : JSON.stringify(text).slice(0, -1)).toString('latin1')

/** Returns what a reader takes for the name that trims it, or reads brackets and dots as a path. */
const plainName = (name: string): string => name.trim().split(/[[.\s]/, 1)[0] as string

function textOf(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes)
  } catch {
    return null
  }
}
