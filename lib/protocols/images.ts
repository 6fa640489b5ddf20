/** OpenAI-compatible images. */

import { ContentKeys } from './answers/content.ts'
import { DocumentMeter, type DocumentRules } from './answers/document-meter.ts'
import type { StreamEvent } from './answers/events.ts'
import type { MeterOptions } from './answers/meter.ts'
import { type EventRules, StreamMeter } from './answers/stream-meter.ts'
import { openAiWords } from './chat.ts'
import { type Fields, fieldsOf } from './json/text.ts'
import { bearerClient, clientPath, openAiUpstream, type ProtocolRow } from './protocol.ts'
import { withoutOthers } from './requests/asked-tools.ts'
import { formBody, formOr, jsonBody } from './requests/body.ts'
import { type Read, Place } from './requests/places.ts'
import * as read from './requests/readers.ts'
import { detailsOf, first, fromPrompt, type Report, usageReport } from './words/reports.ts'
import { type CountedKind, type PictureKind, PictureKinds, pictureKind } from './words/usage.ts'

/** The form of answer in which pictures are base64. */
const ENCODED = 'b64_json'

/** One picture or several, each as a URL or an object with a URL. */
const picture = new Place({ element: read.pictureUrl.read })
  .has('image_url', read.pictureUrl)
  .has('url', read.pictureUrl)
  .has('file_id', read.stored('file_id'))

const pictures = { ...read.pictureUrl, inside: picture }

/** A sequence of pictures, which some upstreams offer. */
const sequence = new Place().has('max_images', (draft, value) => {
  draft.sequenceLimit = read.numberIn(value) || null
})

/** Reads how the pictures are to be. Single upstreams have names of their own for the size. */
const asked = (member: keyof PictureKind): Read => {
  const said = read.pictureSaid(member)
  return (draft, value, frame) => {
    said(draft, value, frame)
    draft.askedPicture = frame.picture
  }
}

/** A side of the picture. Upstreams that read it pass over the size, which nobody can rely on then. */
const side: Read = (draft, value, frame) => {
  if (read.isNull(value)) return
  read.pictureSaid('size')(draft, { ...value, text: null }, frame)
  draft.askedPicture = frame.picture
}

const imagesPlace = withoutOthers(new Place())
  .has('model', read.model)
  .has('stream', read.stream)
  .has('n', read.answers)
  .has('batch_size', read.answers)
  .has('num_images', read.answers)
  .has('sequential_image_generation', (draft, value) => {
    draft.sequence = !read.isNull(value) && read.capturedString(value) !== 'disabled'
  })
  .has('sequential_image_generation_options', { inside: sequence })
  .has('image', pictures)
  .has('images', pictures)
  .has('mask', pictures)
  .has('size', asked('size'))
  .has('image_size', asked('size'))
  .has('resolution', asked('size'))
  .has('width', side)
  .has('height', side)
  .has('quality', asked('quality'))
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))
  .has('response_format', (draft, value) => {
    draft.encodedPictures = read.capturedString(value)?.toLowerCase() === ENCODED
  })

/** Pictures and masks to be changed. What else a form may hold is not known to cost anything. */
const form = formBody({
  place: imagesPlace,
  files: ['image', 'mask'],
  upload(draft) {
    draft.prompt.pictures++
  },
})

const imagesBody = formOr(form, jsonBody(imagesPlace))

/**
 * Content that counts. The answer has no text that is charged, and previews in a stream cost only what is reported for
 * them.
 */
const STREAM_KEYS = new ContentKeys({ text: ['revised_text'] })
const DOCUMENT_KEYS = new ContentKeys({ encoded: ['b64_json', 'url'] })

const MEMBERS: ReadonlySet<string> = new Set(['id', 'usage', 'error', 'size', 'quality'])

/** `pictures`, `input`: these have a price, as the options of the meter say. */
type Priced = Pick<MeterOptions, 'pictures' | 'input'>

/** Returns null when there is neither a picture nor a number. Where pictures have a price, they need no report of tokens beside it. */
function reportOf(
  images: number,
  value: unknown,
  kinds: readonly CountedKind[],
  priced: Priced,
  seen = images,
): Report | null {
  const byPiece = priced.pictures === true
  const fields = fieldsOf(value)
  const output = first(fields, 'output_tokens')
  const total = first(fields, 'total_tokens')
  // some upstreams bill the output alone, and report it and a total
  const rest = output === null || total === null || total < output ? null : total - output
  const input = first(fields, 'input_tokens') ?? rest
  const usage = fromPrompt({
    prompt: input ?? 0,
    output: output ?? 0,
    details: {
      prompt: detailsOf(fieldsOf(fields['input_tokens_details'])),
      output: detailsOf(fieldsOf(fields['output_tokens_details'])),
    },
  })
  usage.images = images
  const namesOutput = output !== null || (byPiece && images > 0)
  const seenImages = Math.min(seen, images)
  const namesInput = input !== null || (byPiece && priced.input !== true)
  return usageReport(usage, { namesInput, namesOutput, kinds, seenImages })
}

class Rules implements EventRules {
  readonly markers = null
  readonly #kinds = new PictureKinds()
  /**
   * How many pictures are complete. Each picture of a sequence has an event of its own; the event that completes the
   * sequence has no picture.
   */
  #completed = 0
  #ofSequence = 0
  readonly #priced: Priced

  constructor(priced: Priced) {
    this.#priced = priced
  }

  knows({ type }: StreamEvent): boolean {
    return type === 'error' || type.startsWith('image_')
  }

  read(meter: StreamMeter, event: StreamEvent): void {
    const { type } = event
    if (type === 'error') meter.failed = true
    if (type.endsWith('.partial_succeeded')) {
      this.#ofSequence++
      this.#kinds.add(kindIn(event.fieldsOr(...LAST)))
      meter.report(reportOf(this.#ofSequence, undefined, this.#kinds.list, this.#priced))
    }
    if (!type.endsWith('.completed')) return
    this.#completed++
    meter.terminal = true
    const fields = event.fieldsOr(...LAST)
    const usage = fields['usage']
    const generated = first(fieldsOf(usage), 'generated_images')
    const pieces = this.#ofSequence === 0 ? (generated ?? this.#completed) : Math.max(this.#ofSequence, generated ?? 0)
    if (this.#ofSequence === 0) this.#kinds.add(kindIn(fields), generated ?? 1)
    const seen = Math.max(this.#completed, this.#ofSequence)
    meter.report(reportOf(pieces, usage, this.#kinds.list, this.#priced, seen))
  }
}

/** Members that are read of an event, which may be too long to be kept. */
const LAST = ['usage', 'size', 'quality']

const kindIn = (event: Fields): PictureKind => pictureKind(event['size'], event['quality'])

const documentRules = (priced: Priced): DocumentRules => ({
  members: MEMBERS,
  own: ['data'],
  keys: DOCUMENT_KEYS,
  reportOf(document, pieces) {
    // in a document that breaks off, a picture counts that has begun
    const images = Math.max(document.itemsOf('data'), pieces)
    const kinds = new PictureKinds()
    kinds.add(pictureKind(document.value('size'), document.value('quality')), images)
    return reportOf(images, document.value('usage'), kinds.list, priced)
  },
})

const PATH = '/v1/images/generations'

export const images: ProtocolRow = {
  place: 4,
  client: bearerClient(
    clientPath('/images/generations'),
    clientPath('/images/edits', { lastStep: 'edits' }),
    clientPath('/images/variations', { lastStep: 'variations' }),
  ),
  upstream: openAiUpstream(PATH, {
    openai: PATH,
    gemini: '/v1beta/openai/images/generations',
    azure: '/openai/v1/images/generations',
    'azure-deployments': '/openai/deployments/{model}/images/generations',
    qianfan: '/v2/images/generations',
    siliconflow: PATH,
    together: PATH,
    volcengine: '/api/v3/images/generations',
    xai: PATH,
    zhipu: '/api/paas/v4/images/generations',
  }),
  body: imagesBody,
  streamsByPath: null,
  asksForUsage: false,
  price: { cover: [['image'], ['input', 'output'], ['request']], pictures: true, cachesWhenAsked: false },
  terminalIsLast: false,
  meter: ({ events, pictures = false, input = false, mostOutput }) =>
    events
      ? new StreamMeter(new Rules({ pictures, input }), STREAM_KEYS, null, pictures)
      : new DocumentMeter(documentRules({ pictures, input }), mostOutput, null, pictures),
  words: openAiWords,
  countAnswer: null,
  encodedPictures: { array: 'data', encoded: 'b64_json', link: 'url' },
}
