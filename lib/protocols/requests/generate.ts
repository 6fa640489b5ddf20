/** The body of a generate-content request, in both spellings that its readers take. */
import * as d from '../draft.ts'
import { HEAD, Place } from '../places.ts'

const LONGEST_URL = 4096

const blob = new Place({
  end(draft, { dataLength, mime }) {
    if (dataLength > 0) d.inline(draft, mime, dataLength)
  },
})
  .has('mimeType', { alias: 'mime_type', read: d.mime })
  .has('data', { limit: HEAD, read: d.data })

const fileData = new Place({
  end(draft, { urls, mime }) {
    if (mime.startsWith('image/')) draft.prompt.remotePictures += urls
    else draft.prompt.remoteDocuments += urls
  },
})
  .has('mimeType', { alias: 'mime_type', read: d.mime })
  .has('fileUri', {
    alias: 'file_uri',
    limit: LONGEST_URL,
    read(draft, value, frame) {
      d.url(draft, value, frame)
      if (frame.urls > 0 && !isOfTheWeb(d.textOf(value))) draft.invalid ??= 'fileUri'
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

const server = new Place({ end: d.serverTool })

/** Each name is a tool; those that are not the client's are the upstream's. */
const tool = new Place({
  other(draft) {
    draft.prompt.unlimitedTools++
  },
})
  .has('functionDeclarations', { alias: 'function_declarations' })
  .has('computerUse', { alias: 'computer_use' })
  .has('mcpServers', { alias: 'mcp_servers', inside: server })
  .has('fileSearch', { alias: 'file_search', ...d.stored('fileSearch') })
  .has('retrieval', d.stored('retrieval'))

const config = new Place()
  .has('maxOutputTokens', { alias: 'max_output_tokens', read: d.maximum })
  .has('candidateCount', { alias: 'candidate_count', read: d.answers })

export const generate = new Place()
  .has('model', d.model)
  .has('contents', { inside: content })
  .has('systemInstruction', { alias: 'system_instruction', inside: content })
  .has('generationConfig', {
    alias: 'generation_config',
    inside: config,
  })
  .has('tools', { inside: tool })
  .has('cachedContent', { alias: 'cached_content', ...d.stored('cachedContent') })
  .has('serviceTier', {
    alias: 'service_tier',
    ...d.tier('serviceTier', 'unspecified', 'SERVICE_TIER_UNSPECIFIED', 'standard', 'flex', 'STANDARD', 'FLEX'),
  })
// a count may carry the whole request
generate.has('generateContentRequest', { alias: 'generate_content_request', inside: generate })
