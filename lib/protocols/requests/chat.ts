/** The places of a chat request's body in which something matters. */

import * as media from '../media-readers.ts'
import { HEAD, Place, type Read } from '../places.ts'
import * as read from '../readers.ts'
import { documentUrl, imageUrl, inputAudio, search, serverTool, top } from './openai.ts'

const file = new Place({ end: (draft, frame) => media.inlineOrFetched(draft, frame) })
  .has('file_data', { limit: HEAD, read: media.data })
  .has('file_url', { limit: HEAD, read: media.documentUrl })
  .has('file_id', read.stored('file_id'))

/** The pictures of which a film consists. */
const frames = new Place({ element: media.pictureUrl })

const part = new Place()
  .has('image_url', { limit: HEAD, read: media.pictureUrl, inside: imageUrl })
  .has('video_url', documentUrl)
  .has('audio_url', documentUrl)
  .has('file_url', documentUrl)
  .has('document_url', documentUrl)
  .has('video', { limit: HEAD, read: media.documentUrl, inside: frames })
  .has('input_audio', { inside: inputAudio })
  .has('file', { inside: file })

/** The sound of an earlier answer. */
const spoken = new Place().has('id', read.stored('audio'))

const message = new Place().has('content', { inside: part }).has('audio', { inside: spoken })

const tool = new Place({
  end(draft, frame) {
    if (!['', 'function', 'custom'].includes(frame.type)) serverTool(draft, frame)
  },
}).has('type', { read: read.type })

/** Notes that the model will think. Some upstreams do not count thoughts as part of the maximum. */
const thinks: Read = (draft, value) => {
  draft.thinks ||= read.isOn(value)
}
const thinking = new Place()
  .has('type', {
    read(draft, value) {
      draft.thinks ||= !['disabled', 'none'].includes(read.textOf(value) ?? '')
    },
  })
  .has('budget_tokens', { read: read.maximum })

/** Notes a search that is switched on. */
const searches: Read = (draft, value, frame) => {
  if (read.isOn(value)) read.searchTool(draft, frame)
}

const google = new Place().has('cached_content', read.stored('cached_content'))
const extra = new Place().has('google', { inside: google })

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

export const chatBody = top({
  // single models search although nobody asks them to: their prices name searches
  end(draft) {
    draft.searches.unlimited ||= 1
  },
})
  .has('max_tokens', { read: read.maximum })
  .has('max_completion_tokens', { read: read.maximum })
  .has('thinking_budget', {
    // upstreams that read it do not count thoughts as part of the maximum
    read(draft, value) {
      draft.beside = read.numberIn(value) ?? 0
    },
  })
  .has('enable_thinking', { read: thinks })
  .has('thinking', { inside: thinking })
  .has('reasoning', { inside: new Place().has('max_tokens', { read: read.maximum }) })
  .has('n', { read: read.answers })
  .has('best_of', { read: read.answers })
  .has('messages', { inside: message })
  .has('tools', { inside: tool })
  .has('web_search_options', { inside: search })
  .has('web_search', { read: searches, inside: search })
  .has('search_parameters', { inside: search })
  .has('enable_search', { read: searches })
  .has('enable_enhancement', { read: searches })
  // the answer would come later, by a request that is not charged
  .has('deferred', {
    read(draft, value) {
      if (read.isOn(value)) draft.invalid ??= 'deferred'
    },
  })
  .has('extra_body', { inside: extra })
  .has('stream_options', {
    inside: streamOptions,
    read(draft, { start, end }) {
      draft.streamOptions = { span: { start, end }, isObject: false, includeUsage: null, empty: false }
    },
  })
