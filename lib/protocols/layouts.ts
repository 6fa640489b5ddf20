/** Places that the bodies of chat and responses requests have in common. */
import { toolChoice, withSwitches } from './requests/asked-tools.ts'
import type { Draft } from './requests/facts.ts'
import { type FieldOptions, Place, type PlaceOptions, type Read } from './requests/places.ts'
import * as read from './requests/readers.ts'

export const imageUrl = new Place().has('url', read.pictureUrl)
const mediaUrl = new Place().has('url', read.documentUrl)
/** A document, film or sound, as a URL or an object with a URL. */
export const urlOrObject = { ...read.documentUrl, inside: mediaUrl }

export const file = new Place({ end: (draft, frame) => read.inlineOrFetched(draft, frame) })
  .has('file_data', read.data)
  .has('file_url', read.documentUrl)
  .has('file_id', read.stored('file_id'))

export const inputAudio = new Place({
  end(draft, frame) {
    read.inlineOrFetched(draft, frame, `audio/${frame.mime}`)
  },
})
  .has('data', read.data)
  .has('format', read.mime)

const metadata = new Place({ free: true }).has('user_id', read.userId)

const cacheOptions = new Place().has('ttl', read.ttl('30m'))

/** The fields that both bodies have at the top. */
export const top = (options: PlaceOptions = {}): Place =>
  withSwitches(new Place(options))
    .has('model', read.model)
    .has('stream', read.stream)
    .has('metadata', { inside: metadata })
    .has('prompt_cache_key', read.promptCacheKey)
    .has('prompt_cache_retention', read.ttl('in_memory'))
    .has('prompt_cache_options', { inside: cacheOptions })
    // as `models`: others that some upstreams ask when the first one fails, whose prices are not known here
    .has('fallbacks', read.stored('fallbacks'))
    .has('tool_choice', toolChoice)
    .has('modalities', modalities)
    .has('audio', voice)
    .has('service_tier', read.tier('service', 'service_tier'))

/** The most bytes of options of a stream that ask what it cost: they are written anew. */
const LONGEST_OPTIONS = 4096

/** The options of a stream, of which one may be added, and one is ours and goes no further. */
export const streamOptions: FieldOptions = {
  inside: new Place({
    single: true,
    begin(draft, start) {
      const span = { start, end: start }
      draft.streamOptions = { span, isObject: true, includeUsage: null, empty: true, namesCost: false }
    },
    end(draft, _frame, end) {
      const { streamOptions: options } = draft
      if (options === null) return
      options.span.end = end
      if (options.namesCost && end - options.span.start > LONGEST_OPTIONS) draft.invalid ??= 'stream_options'
    },
    other(draft) {
      if (draft.streamOptions !== null) draft.streamOptions.empty = false
    },
  })
    .has('include_usage', (draft, value) => {
      draft.includeUsage = read.isTrue(value)
      if (draft.streamOptions === null) return
      draft.streamOptions.empty = false
      draft.streamOptions.includeUsage = { start: value.start, end: value.end }
    })
    .has('include_cost', (draft, value) => {
      draft.asksCost ||= read.isTrue(value)
      if (draft.streamOptions !== null) draft.streamOptions.namesCost = true
    }),
  read(draft, { start, end }) {
    const span = { start, end }
    draft.streamOptions = { span, isObject: false, includeUsage: null, empty: false, namesCost: false }
  },
}

// JOIN modalities.ts
/**
 * What a request says of the answer's content: text, sound or pictures. A word that cannot be read, or that is not known,
 * stands for everything, so that no answer costs more than was expected of it.
 */

const NO_SOUND = ['text', 'image']
const NO_PICTURES = ['text', 'audio']

function note(draft: Draft, name: string): void {
  draft.sound = draft.sound === true || !NO_SOUND.includes(name)
  draft.pictures = draft.pictures === true || !NO_PICTURES.includes(name)
}

const UNREADABLE = ''

/** A list of words. */
export const modalities: FieldOptions = {
  read(draft, value) {
    if (!read.isNull(value)) note(draft, UNREADABLE)
  },
  inside: new Place({
    begin: draft => note(draft, UNREADABLE),
    element: (draft, value) => note(draft, read.capturedString(value)?.toLowerCase() ?? UNREADABLE),
  }),
}

/** Reads how the answer is to be spoken. */
export const voice: Read = (draft, value) => {
  if (read.isOn(value)) draft.sound = true
}

// JOIN texts.ts
/** Places that the bodies of embeddings, rerank and moderations have in common. */

/** A part of a text with pictures. */
const part = new Place()
  .has('image', read.pictureUrl)
  .has('image_url', { ...read.pictureUrl, inside: imageUrl })
  .has('video', urlOrObject)
  .has('video_url', urlOrObject)

/** A text or a picture, or an array of them. A picture is a URL, or base64 with or without a URL around it. */
export const textOrPicture = (options: PlaceOptions = {}): Place =>
  new Place({
    ...options,
    end(draft, frame, end) {
      read.inlineOrFetched(draft, frame, 'image/unknown')
      options.end?.(draft, frame, end)
    },
  })
    .has('image', read.data)
    .has('image_url', { ...read.pictureUrl, inside: imageUrl })
    .has('video', urlOrObject)
    .has('video_url', urlOrObject)
    .has('content', { inside: part })
