/** The body of a generate-content request, in both spellings that its readers take. */

import { HEAD, Place } from '../places.ts'
import * as read from '../readers.ts'

const LONGEST_URL = 4096

const blob = new Place({
  end(draft, { dataLength, mime }) {
    if (dataLength > 0) read.inline(draft, mime, dataLength)
  },
})
  .has('mimeType', { alias: 'mime_type', read: read.mime })
  .has('data', { limit: HEAD, read: read.data })

const fileData = new Place({
  end(draft, { urls, mime }) {
    if (mime.startsWith('image/')) draft.prompt.remotePictures += urls
    else draft.prompt.remoteDocuments += urls
  },
})
  .has('mimeType', { alias: 'mime_type', read: read.mime })
  .has('fileUri', {
    alias: 'file_uri',
    limit: LONGEST_URL,
    read(draft, value, frame) {
      if (value.end - value.start > 2 && !isOfTheWeb(read.textOf(value))) draft.invalid ??= 'fileUri'
      read.url(draft, value, frame)
    },
  })

/** Anything but a file that somebody put into the upstream's own store. */
function isOfTheWeb(text: string | null): boolean {
  const found = text === null ? null : URL.parse(text)
  return found !== null && /^https?:$/.test(found.protocol) && !found.hostname.includes('generativelanguage')
}

const part = new Place()
  .has('inlineData', { alias: 'inline_data', inside: blob })
  .has('fileData', { alias: 'file_data', inside: fileData })
const functionResponse = new Place().has('parts', { inside: part })
part.has('functionResponse', { alias: 'function_response', inside: functionResponse })
const content = new Place().has('parts', { inside: part })

const server = new Place({ end: read.serverTool })

/** Each name is a tool; those that are not the client's are the upstream's. */
const tool = new Place({
  other(draft) {
    draft.prompt.unlimitedTools++
  },
})
  .has('functionDeclarations', { alias: 'function_declarations' })
  .has('computerUse', { alias: 'computer_use' })
  .has('mcpServers', { alias: 'mcp_servers', inside: server })
  .has('fileSearch', { alias: 'file_search', ...read.stored('fileSearch') })
  .has('retrieval', read.stored('retrieval'))

const config = new Place()
  .has('maxOutputTokens', { alias: 'max_output_tokens', read: read.maximum })
  .has('candidateCount', { alias: 'candidate_count', read: read.answers })

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
  .has('serviceTier', {
    alias: 'service_tier',
    ...read.tier('serviceTier', 'unspecified', 'SERVICE_TIER_UNSPECIFIED', 'standard', 'flex', 'STANDARD', 'FLEX'),
  })
// a count may carry the whole request
generateBody.has('generateContentRequest', { alias: 'generate_content_request', inside: generateBody })
