/**
 * The searches that the simulator makes: a request that asks for a hosted search, in any form of its protocol, and whose prompt says
 * "search", or has the directive, finds two pages. The text of the answer cites the first one, from its beginning to its end.
 */
import { type Fields, rowsOf, type Search, stringOf } from './dialect.ts'

const TYPE = /^(?:openrouter:)?web_search/
const LONGEST_QUERY = 200

/** Whether a body of messages, chat or responses asks for a search. */
export const asksToSearch = (body: Fields): boolean =>
  rowsOf(body['tools']).some(tool => TYPE.test(stringOf(tool['type']))) ||
  body['web_search_options'] !== undefined ||
  body['enable_search'] === true ||
  rowsOf(body['plugins']).some(plugin => plugin['id'] === 'web')

/** The same of generate-content. */
export const asksGoogle = (body: Fields): boolean =>
  rowsOf(body['tools']).some(tool => tool['googleSearch'] !== undefined)

export function searchFor(prompt: string): Search {
  const query = prompt
    .replace(/\[\[sim.*?\]\]/gs, '')
    .trim()
    .slice(-LONGEST_QUERY)
  const pages = ['Nachrichten über “alles”', 'Second page']
  return { query, sources: pages.map((title, n) => ({ url: `https://found.example/${n + 1}?q=a%20b`, title })) }
}

export const wantsSearch = (prompt: string): boolean => /search/i.test(prompt)

const firstOf = ({ sources }: Search): Search['sources'][number] => sources[0] as Search['sources'][number]

// --- in the words of each protocol

const DIRECT = { caller: { type: 'direct' } }

/** The blocks of messages before the text. */
export const searchBlocks = ({ query, sources }: Search, id: string): Fields[] => [
  { type: 'server_tool_use', id: `srvtoolu_${id}`, name: 'web_search', input: { query }, ...DIRECT },
  {
    type: 'web_search_tool_result',
    tool_use_id: `srvtoolu_${id}`,
    content: sources.map(page => ({
      type: 'web_search_result',
      ...page,
      encrypted_content: Buffer.from(`content of ${page.url}`).toString('base64'),
      page_age: null,
    })),
    ...DIRECT,
  },
]

export const citationBlock = (search: Search) => ({
  type: 'web_search_result_location',
  ...firstOf(search),
  cited_text: 'as it stands there',
  encrypted_index: Buffer.from('index').toString('base64'),
})

/** The item of responses. `body`: of the request, which says whether it wants to see the sources. */
export function searchItem({ query, sources }: Search, id: string, body: Fields) {
  const included = Array.isArray(body['include']) ? body['include'] : []
  const isShown = included.includes('web_search_call.action.sources')
  const found = isShown ? { sources: sources.map(({ url }) => ({ type: 'url', url })) } : {}
  const action = { type: 'search', query, queries: [query], ...found }
  return { id: `ws_${id}`, type: 'web_search_call', status: 'completed', action }
}

/** Counted in characters of the text. */
export const annotation = (search: Search, text: string) => ({
  type: 'url_citation',
  ...firstOf(search),
  start_index: 0,
  end_index: [...text].length,
})

/** The same in chat. */
export function nestedAnnotation(search: Search, text: string) {
  const { type, ...inner } = annotation(search, text)
  return { type, url_citation: inner }
}

export const grounding = ({ query, sources }: Search, text: string) => ({
  webSearchQueries: [query],
  groundingChunks: sources.map(({ url, title }) => ({ web: { uri: url, title } })),
  groundingSupports: [
    { segment: { startIndex: 0, endIndex: Buffer.byteLength(text), text }, groundingChunkIndices: [0] },
  ],
})
