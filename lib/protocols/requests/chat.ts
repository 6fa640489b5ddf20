/** The places of a chat request's body in which something matters. */

import { bareTool, endMembers, memberTool, typedTool } from '../asked-tools.ts'
import type { Draft } from '../draft.ts'
import * as media from '../media-readers.ts'
import { HEAD, Place } from '../places.ts'
import * as read from '../readers.ts'
import { isToolMember } from '../words/server-tools.ts'
import { documentUrl, file, imageUrl, inputAudio, top } from './openai.ts'

/** The pictures of which a film consists. */
const frames = new Place({ element: media.pictureUrl })

/** Of a part in the words of messages. */
const source = new Place().has('file_id', read.stored('file_id'))

/** Parts whose media are read, and those that have none. */
const PARTS: ReadonlySet<string> = new Set([
  'text',
  'input_text',
  'output_text',
  'refusal',
  'reasoning',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'image_url',
  'input_image',
  'video_url',
  'audio_url',
  'file_url',
  'document_url',
  'video',
  'input_audio',
  'file',
])

/** What a part holds that nobody here knows may be anything that an upstream fetches; of several one is enough. */
const part = new Place({
  other(_draft, name, frame) {
    if (name !== 'text') frame.hasOthers = true
  },
  end(draft, { type, hasOthers }) {
    if (PARTS.has(type) || (type === '' && !hasOthers) || draft.hasUnknownPart) return
    draft.hasUnknownPart = true
    draft.prompt.remoteDocuments++
  },
})
  .has('type', { read: read.type })
  .has('file_id', read.stored('file_id'))
  .has('source', { inside: source })
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
  element: bareTool,
  // proxies take the tools of generate too, which have no type
  other(draft, name, frame) {
    if (isToolMember(name)) memberTool(draft, name, frame)
    else frame.hasOthers = true
  },
  end(draft, frame, end) {
    if (frame.hasMembers && frame.type === '') endMembers(draft, frame, end)
    else typedTool(draft, frame, end)
  },
}).has('type', { read: read.type })

const thinking = new Place().has('type', { read: read.effort }).has('budget_tokens', { read: read.budgetWithin })
const reasoning = new Place()
  .has('effort', { read: read.effort })
  .has('enabled', { read: read.thinks })
  .has('max_tokens', { read: read.budgetWithin })
/** What some upstreams hand on to the template of the conversation. */
const template = new Place().has('thinking', { read: read.thinks }).has('enable_thinking', { read: read.thinks })

const googleThinking = new Place()
  .has('thinking_level', { read: read.effort })
  .has('thinking_budget', { read: read.thinkingBudget })
  .has('include_thoughts', { read: read.thinks })
const google = new Place()
  .has('cached_content', read.stored('cached_content'))
  .has('thinking_config', { inside: googleThinking })

/** Text that the answer is expected to repeat: where it does not, its tokens are billed as output, beside the maximum. */
const predict = (draft: Draft, bytes: number): void => {
  draft.predictedBytes += bytes
}
const prediction = new Place({ end: (draft, { start }, end) => predict(draft, end - start) })

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

export const chatBody = top()
  .has('max_tokens', { read: read.maximum('max_tokens') })
  .has('max_completion_tokens', { read: read.maximum('max_completion_tokens') })
  .has('max_output_tokens', { read: read.maximum('max_output_tokens') })
  .has('thinking_budget', { read: read.thinkingBudget })
  .has('enable_thinking', { read: read.thinks })
  .has('reasoning_effort', { read: read.effort })
  .has('thinking', { inside: thinking })
  .has('reasoning', { inside: reasoning })
  .has('chat_template_kwargs', { inside: template })
  .has('prediction', { inside: prediction, read: (draft, { start, end }) => predict(draft, end - start) })
  .has('n', { read: read.answers })
  .has('best_of', { read: read.answers })
  .has('messages', { inside: message })
  .has('tools', { inside: tool })
  // the answer would come later, by a request that is not charged
  .has('deferred', {
    read(draft, value) {
      if (read.isOn(value)) draft.invalid ??= 'deferred'
    },
  })
  .has('stream_options', {
    inside: streamOptions,
    read(draft, { start, end }) {
      draft.streamOptions = { span: { start, end }, isObject: false, includeUsage: null, empty: false }
    },
  })

chatBody.has('extra_body', { inside: read.extraBody(chatBody).has('google', { inside: google }) })
