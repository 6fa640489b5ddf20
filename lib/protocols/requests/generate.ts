/**
 * The places of a generate-content request's body in which something matters, in both spellings that upstreams accept.
 */

import { bareTool, endMembers, memberTool } from '../asked-tools.ts'
import * as media from '../media-readers.ts'
import { HEAD, Place } from '../places.ts'
import * as read from '../readers.ts'
import { modalities, voice } from './modalities.ts'

const LONGEST_URL = 4096

const blob = new Place({
  end(draft, { dataLength, mime }) {
    if (dataLength > 0) media.inline(draft, mime, dataLength)
  },
})
  .has('mimeType', { alias: 'mime_type', read: media.mime })
  .has('data', { limit: HEAD, read: media.data })

const fileData = new Place({
  end(draft, { urls, mime }) {
    if (mime.startsWith('image/')) draft.prompt.remotePictures += urls
    else draft.prompt.remoteDocuments += urls
  },
})
  .has('mimeType', { alias: 'mime_type', read: media.mime })
  .has('fileUri', {
    alias: 'file_uri',
    limit: LONGEST_URL,
    read(draft, value, frame) {
      if (value.end - value.start > 2 && !isOfTheWeb(read.textOf(value))) draft.invalid ??= 'fileUri'
      media.url(draft, value, frame)
    },
  })

/** Whether a URL is one of the web, and not of a file in the upstream's own store. */
function isOfTheWeb(text: string | null): boolean {
  const found = text === null ? null : URL.parse(text)
  return found !== null && /^https?:$/.test(found.protocol) && !found.hostname.includes('generativelanguage')
}

const part = new Place()
  .has('inlineData', { alias: 'inline_data', inside: blob })
  .has('fileData', { alias: 'file_data', inside: fileData })
const functionResponse = new Place().has('parts', { inside: part })
part.has('functionResponse', { alias: 'function_response', inside: functionResponse })
export const content = new Place().has('parts', { inside: part })

/** Each member is a tool. */
const tool = new Place({ element: bareTool, other: memberTool, end: endMembers })
  .has('fileSearch', { alias: 'file_search', ...read.stored('fileSearch') })
  .has('retrieval', read.stored('retrieval'))

const imageConfig = new Place({
  end(draft, { picture }) {
    draft.pictures = true
    if (picture !== null) read.askPicture(draft, picture)
  },
}).has('imageSize', { alias: 'image_size', read: read.pictureSaid('size') })

const thinking = new Place()
  .has('thinkingLevel', { alias: 'thinking_level', read: read.effort })
  .has('thinkingBudget', { alias: 'thinking_budget', read: read.thinkingBudget })
  .has('includeThoughts', { alias: 'include_thoughts', read: read.thinks })

const config = new Place()
  .has('maxOutputTokens', { alias: 'max_output_tokens', read: read.maximum('maxOutputTokens') })
  .has('thinkingConfig', { alias: 'thinking_config', inside: thinking })
  .has('candidateCount', { alias: 'candidate_count', read: read.answers })
  .has('responseModalities', { alias: 'response_modalities', ...modalities })
  .has('speechConfig', { alias: 'speech_config', read: voice })
  // other models, whose prices are not known here
  .has('routingConfig', { alias: 'routing_config', ...read.stored('routingConfig') })
  .has('modelConfig', { alias: 'model_config', ...read.stored('modelConfig') })
  .has('modelSelectionConfig', { alias: 'model_selection_config', ...read.stored('modelSelectionConfig') })
  .has('imageConfig', { alias: 'image_config', inside: imageConfig })

export const generateBody = new Place()
  .has('model', read.model)
  .has('contents', { inside: content })
  .has('systemInstruction', { alias: 'system_instruction', inside: content })
  .has('generationConfig', {
    alias: 'generation_config',
    inside: config,
  })
  .has('tools', { inside: tool })
  .has('cachedContent', { alias: 'cached_content', ...read.stored('cachedContent') })
  .has('continuationToken', { alias: 'continuation_token', ...read.stored('continuationToken') })
  .has('outputConfig', { alias: 'output_config', ...read.stored('outputConfig') })
  .has('serviceTier', {
    alias: 'service_tier',
    ...read.tier('service', 'serviceTier'),
  })
// a request for a count may have the whole request inside
generateBody.has('generateContentRequest', { alias: 'generate_content_request', inside: generateBody })
