/** The body of a chat request. */

import { HEAD, Place } from '../places.ts'
import * as read from '../readers.ts'
import { imageUrl, inputAudio, mediaUrl, top } from './openai.ts'

const file = new Place({ end: (draft, frame) => read.inlineOrFetched(draft, frame) })
  .has('file_data', { limit: HEAD, read: read.data })
  .has('file_url', { limit: HEAD, read: read.documentUrl })
  .has('file_id', read.stored('file_id'))

const part = new Place()
  .has('image_url', { limit: HEAD, read: read.pictureUrl, inside: imageUrl })
  .has('video_url', { limit: HEAD, read: read.documentUrl, inside: mediaUrl })
  .has('audio_url', { limit: HEAD, read: read.documentUrl, inside: mediaUrl })
  .has('input_audio', { inside: inputAudio })
  .has('file', { inside: file })

/** An earlier answer's sound. */
const spoken = new Place().has('id', read.stored('audio'))

const message = new Place().has('content', { inside: part }).has('audio', { inside: spoken })

const tool = new Place({
  end(draft, frame) {
    if (!['', 'function', 'custom'].includes(frame.type)) read.serverTool(draft, frame)
  },
}).has('type', { read: read.type })

const search = new Place({ end: read.serverTool })

const streamOptions = new Place({
  single: true,
  begin(draft, start) {
    draft.streamOptions = { span: { start, end: start }, isObject: true, includeUsage: null, empty: true }
  },
  end(draft, _frame, end) {
    if (draft.streamOptions !== null) draft.streamOptions.span.end = end
  },
  other(draft) {
    if (draft.streamOptions !== null) draft.streamOptions.empty = false
  },
}).has('include_usage', {
  read(draft, value) {
    draft.includeUsage = read.isTrue(value)
    if (draft.streamOptions === null) return
    draft.streamOptions.empty = false
    draft.streamOptions.includeUsage = { start: value.start, end: value.end }
  },
})

export const chat = top()
  .has('max_tokens', { read: read.maximum })
  .has('max_completion_tokens', { read: read.maximum })
  .has('thinking_budget', {
    // where it is read, thoughts are not in the maximum
    read(draft, value) {
      draft.beside = read.amountOf(value) ?? 0
    },
  })
  .has('n', { read: read.answers })
  .has('best_of', { read: read.answers })
  .has('messages', { inside: message })
  .has('tools', { inside: tool })
  .has('web_search_options', { inside: search })
  .has('stream_options', {
    inside: streamOptions,
    read(draft, { start, end }) {
      draft.streamOptions = { span: { start, end }, isObject: false, includeUsage: null, empty: false }
    },
  })
