/** The places of a responses request's body in which something matters. */

import { bareTool, typedTool } from '../asked-tools.ts'
import * as media from '../media-readers.ts'
import { HEAD, Place, type Read } from '../places.ts'
import * as read from '../readers.ts'
import { UNSAID } from '../words/usage.ts'
import { documentUrl, imageUrl, inputAudio, top } from './openai.ts'

/** Tools that draw pictures, and those whose type cannot be read. */
const DRAWING_TOOLS = new Set(['image_generation', '?'])

/** How much memory a container has, on which its price depends. */
const memory: Read = (_draft, value, frame) => {
  if (frame.owner !== null && !read.isNull(value)) frame.owner.size = read.textOf(value) ?? '?'
}
/** A skill that was uploaded to the account that all customers share; those of the provider itself begin with its name. */
const skill = new Place().has('skill_id', {
  read(draft, value) {
    if (!read.textOf(value)?.startsWith('openai-')) draft.invalid ??= 'skills'
  },
})
const container = new Place()
  .has('id', read.stored('container'))
  .has('file_ids', read.stored('file_ids'))
  .has('memory_limit', { read: memory })
const environment = new Place({
  end(_draft, frame) {
    if (frame.owner !== null) frame.owner.isLocal = frame.type === 'local'
  },
})
  .has('type', { read: read.type })
  .has('container_id', read.stored('container_id'))
  .has('file_ids', read.stored('file_ids'))
  .has('memory_limit', { read: memory })
  .has('skills', { inside: skill })
const mask = new Place()
  .has('image_url', { limit: HEAD, read: media.pictureUrl })
  .has('file_id', read.stored('file_id'))

const tool = new Place({
  element: bareTool,
  end(draft, frame, end) {
    typedTool(draft, frame, end)
    if (!DRAWING_TOOLS.has(frame.type)) return
    draft.pictures = true
    draft.drawingTools++
    read.askPicture(draft, frame.picture ?? UNSAID)
  },
})
  .has('type', { read: read.type })
  .has('container', { ...read.stored('container'), inside: container })
  .has('environment', { inside: environment })
  .has('vector_store_ids', read.stored('vector_store_ids'))
  .has('tunnel_id', read.stored('tunnel_id'))
  .has('input_image_mask', { inside: mask })
  .has('size', { read: read.pictureSaid('size') })
  .has('quality', { read: read.pictureSaid('quality') })
// a namespace has tools inside
tool.has('tools', { inside: tool })

const reasoning = new Place().has('effort', { read: read.effort })

/** What keeps a client from naming items instead of sending them. */
const REFERENCE = 'item_reference (store: false)'

/** An item of the input, or a part of its content: no name has different meanings in the two. */
const item = new Place({
  end(draft, frame) {
    const { type, dataLength } = frame
    if (type === 'image_generation_call' && dataLength > 0) media.inline(draft, 'image/png', dataLength)
    // without a type, or with null as its type, an id alone is a reference; so is a drawing without its data
    const isReference = (type === '' || type === '?') && frame.hasId && !frame.hasRole
    const isDrawing = type === 'image_generation_call' && frame.hasId && dataLength <= 0
    if (type === 'item_reference' || isReference || isDrawing) draft.invalid ??= REFERENCE
  },
})
  .has('type', { read: read.type })
  .has('id', {
    read(_draft, value, frame) {
      frame.hasId = !read.isNull(value)
    },
  })
  .has('role', {
    read(_draft, value, frame) {
      frame.hasRole = !read.isNull(value)
    },
  })
  .has('image_url', { limit: HEAD, read: media.pictureUrl, inside: imageUrl })
  .has('file_url', { limit: HEAD, read: media.documentUrl })
  .has('video_url', documentUrl)
  .has('audio_url', documentUrl)
  .has('file_id', read.stored('file_id'))
  .has('file_data', {
    limit: HEAD,
    read(draft, value, frame) {
      media.data(draft, value, frame)
      media.inlineOrFetched(draft, frame)
      frame.dataLength = -1
    },
  })
  .has('input_audio', { inside: inputAudio })
  .has('result', { limit: HEAD, read: media.data })
  .has('tools', { inside: tool })
item.has('content', { inside: item }).has('output', { inside: item })

export const responsesBody = top({
  // only tools draw pictures
  begin(draft) {
    draft.pictures = false
  },
})
  .has('max_output_tokens', { read: read.maximum('max_output_tokens') })
  .has('max_tokens', { read: read.maximum('max_tokens') })
  .has('max_completion_tokens', { read: read.maximum('max_completion_tokens') })
  .has('reasoning', { inside: reasoning })
  .has('max_tool_calls', {
    read(draft, value) {
      draft.maxToolCalls = read.numberIn(value) || null
    },
  })
  .has('background', read.background)
  .has('input', { inside: item })
  .has('instructions', { inside: item })
  .has('tools', { inside: tool })
  .has('previous_response_id', {
    limit: read.LONGEST_NAME,
    read(draft, value) {
      // a value that cannot be read names an answer that nobody has
      draft.previousAnswer = read.textOf(value) ?? (read.isNull(value) ? null : '')
    },
  })
  .has('conversation', read.stored('conversation'))
  .has('prompt', read.stored('prompt'))

responsesBody.has('extra_body', { inside: read.extraBody(responsesBody) })
