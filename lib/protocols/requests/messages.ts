/** The places of a messages request's body in which something matters. */

import { bareTool, toolChoice, typedTool, withSwitches } from '../asked-tools.ts'
import * as media from '../media-readers.ts'
import { NO_OUTPUT } from '../words/maxima.ts'
import { HEAD, Place } from '../places.ts'
import * as read from '../readers.ts'
import { documentUrl, file, imageUrl } from './openai.ts'

const cacheControl = new Place({
  begin: draft => {
    draft.cacheTtl ??= '5m'
  },
}).has('ttl', { read: read.ttl('5m') })

const source = new Place({
  end(draft, frame) {
    if (frame.dataLength > 0 && frame.type === 'base64') media.inline(draft, frame.mime, frame.dataLength)
    if (frame.owner !== null) frame.owner.urls += frame.urls
  },
})
  .has('type', { read: read.type })
  .has('media_type', { read: media.mime })
  .has('data', { limit: HEAD, read: media.data })
  .has('url', { read: media.url })
  .has('file_id', read.stored('file_id'))

const block = new Place({
  end(draft, { type, urls }) {
    if (type === 'image') draft.prompt.remotePictures += urls
    else draft.prompt.remoteDocuments += urls
    // the result of a tool may name files of its container, which is harmless; only an upload is refused
    if (type === 'container_upload') draft.invalid ??= 'file_id'
  },
})
  .has('type', { read: read.type })
  .has('source', { inside: source })
  .has('cache_control', { inside: cacheControl })
// parts in the words of chat, which some upstreams take too
block
  .has('image_url', { limit: HEAD, read: media.pictureUrl, inside: imageUrl })
  .has('video_url', documentUrl)
  .has('audio_url', documentUrl)
  .has('file_url', documentUrl)
  .has('file', { inside: file })
block.has('content', { inside: block })
source.has('content', { inside: block })

const message = new Place().has('content', { inside: block })

const tool = new Place({
  element: bareTool,
  end(draft, frame, end) {
    typedTool(draft, frame, end)
    if (frame.type.startsWith('advisor_')) read.advisor(draft, frame)
  },
})
  .has('type', { read: read.type })
  .has('max_uses', { read: read.uses })
  .has('model', read.otherModel)
  .has('max_tokens', {
    read(_draft, value, frame) {
      frame.maximum = read.numberIn(value)
    },
  })
  .has('cache_control', { inside: cacheControl })
  .has('caching', { inside: cacheControl })

// a conversation may add tools in its course
const change = new Place().has('definition', { inside: tool })
block.has('tool', { inside: change }).has('tool_changes', { inside: block })

const fallback = new Place()
  .has('tools', { inside: tool })
  .has('model', read.otherModel)
  .has('max_tokens', { read: read.raise })
  .has('speed', read.tier('speed', 'speed'))

/** A skill that was uploaded to the account that all customers share. */
const skill = new Place({
  end(draft, { type }) {
    if (type !== 'anthropic') draft.invalid ??= 'container'
  },
}).has('type', { read: read.type })
const container = new Place().has('id', read.stored('container')).has('skills', { inside: skill })
const thread = new Place().has('previous_message_id', read.stored('thread'))
// in a turn with tools the budget of thoughts may be larger than the maximum
const thinking = new Place().has('type', { read: read.effort }).has('budget_tokens', { read: read.budgetWithin })
const outputConfig = new Place().has('effort', { read: read.effort })
const maxTokens = read.maximum('max_tokens')
const metadata = new Place({ free: true }).has('user_id', read.userId)

const body = new Place({
  // answers consist of text
  begin(draft) {
    draft.sound = draft.pictures = false
  },
}).has('container', { ...read.stored('container'), inside: container })

export const messagesBody = withSwitches(body)
  .has('model', read.model)
  .has('stream', read.stream)
  .has('max_tokens', {
    read(draft, value, frame) {
      maxTokens(draft, value, frame)
      if (read.numberIn(value) !== 0) return
      draft.maximum ??= 0
      draft.maxima |= NO_OUTPUT
    },
  })
  .has('max_completion_tokens', { read: read.maximum('max_completion_tokens') })
  .has('max_output_tokens', { read: read.maximum('max_output_tokens') })
  .has('messages', { inside: message })
  .has('system', { inside: block })
  .has('tools', { inside: tool })
  .has('tool_choice', toolChoice)
  .has('fallbacks', {
    limit: read.LONGEST_NAME,
    // a text in the place of the list names the model to which the upstream falls back
    read: (draft, value) => value.kind === 'string' && read.otherModel.read(draft, value),
    inside: fallback,
  })
  .has('thread', { inside: thread })
  .has('thinking', { inside: thinking })
  .has('output_config', { inside: outputConfig })
  .has('cache_control', { inside: cacheControl })
  .has('metadata', { inside: metadata })
  .has('service_tier', read.tier('service', 'service_tier'))
  .has('speed', read.tier('speed', 'speed'))
  .has('inference_geo', read.tier('geo', 'inference_geo'))

messagesBody.has('extra_body', { inside: read.extraBody(messagesBody) })
