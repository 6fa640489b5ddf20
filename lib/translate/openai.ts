/** What chat completions and responses share: members of a request, errors, citations, files. */
import { decode } from '../protocols/json/text.ts'
import type { CacheLife, Format, MediaPart } from './ask.ts'
import { type Citation, type Failure, type FailureKind, Untranslatable, type WrittenError } from './events.ts'
import { EMPTY_TEXT, type JsonText, type Literal, literal, object, typed } from './json/literal.ts'
import type { Node, Tree } from './json/tree.ts'
import { drop, type MemberReaders, string } from './request-reader.ts'

/** Members of a request that both have. */
export const OPENAI_MEMBERS: MemberReaders = {
  prompt_cache_key: string('cacheKey'),
  prompt_cache_options: drop('cache_control'),
  prompt_cache_retention: drop('cache_control'),
  safety_identifier: string('user'),
  user: string('user'),
  service_tier: string('tier'),
  store: drop('metadata'),
  metadata: drop('metadata'),
  moderation: drop('moderation'),
}

const WORDS: Readonly<Record<FailureKind, readonly [type: string, code: string | null]>> = {
  invalid: ['invalid_request_error', null],
  context: ['invalid_request_error', 'context_length_exceeded'],
  not_found: ['invalid_request_error', 'model_not_found'],
  too_large: ['invalid_request_error', null],
  timeout: ['timeout', null],
  rate: ['rate_limit_error', 'rate_limit_exceeded'],
  quota: ['insufficient_quota', 'insufficient_quota'],
  overloaded: ['server_error', 'server_is_overloaded'],
  server: ['server_error', null],
}

/** The word by which clients know the failure; null = there is none. */
export const codeOf = ({ kind }: Failure): string | null => WORDS[kind][1]

export function errorObject(failure: Failure): JsonText {
  const code = codeOf(failure)
  const error = {
    message: literal(failure.message),
    type: `"${WORDS[failure.kind][0]}"`,
    param: 'null',
    code: code === null ? 'null' : `"${code}"`,
  }
  return object({ error: object(error) })
}

/** 529 is another protocol's own status. */
export const writeOpenaiError = (failure: Failure): WrittenError => ({
  status: failure.status === 529 ? 503 : failure.status,
  body: errorObject(failure),
})

// --- citations of addresses, in the form that chat and responses share: one puts them into a member of their own

const TYPE = 'url_citation'

/** null = it is something else. */
export function citationOf(tree: Tree, annotation: Node, at: Citation['at']): Citation | null {
  if (tree.string(annotation, 'type') !== TYPE) return null
  const inner = tree.get(annotation, TYPE)
  const node = tree.kind(inner) === 'object' ? inner : annotation
  const url = tree.literal(node, 'url')
  if (url === null) return null
  const place = (name: string): JsonText => {
    const value = tree.get(node, name)
    return /^\d{1,9}$/.test(tree.source(value)) ? tree.source(value) : '0'
  }
  return {
    url,
    title: tree.literal(node, 'title') ?? EMPTY_TEXT,
    start: place('start_index'),
    end: place('end_index'),
    at,
    text: tree.literal(node, 'content') ?? EMPTY_TEXT,
  }
}

const members = ({ url, title, start, end }: Citation): Record<string, JsonText> => ({
  start_index: start,
  end_index: end,
  url,
  title,
})

export const flatCitation = (citation: Citation): JsonText => typed(TYPE, members(citation))

export const nestedCitation = (citation: Citation): JsonText => typed(TYPE, { [TYPE]: object(members(citation)) })

// --- addresses that have their data in them: `data:image/png;base64,…`

/** All before the data is short, and may have escaped slashes. */
const LONGEST_HEAD = 300
const BASE64 = 'base64,'
const HEAD = /^data:([^;,]*)(?:;[^,]*)?;base64,$/i

/** What is in it; null = it is another address. */
export function dataUrl(url: Literal): { mime: string; base64: Literal } | null {
  const at = url.slice(0, LONGEST_HEAD).indexOf(BASE64)
  if (at < 0) return null
  const end = at + BASE64.length
  const found = HEAD.exec(decode(`${url.slice(0, end)}"`) ?? '')
  return found === null ? null : { mime: found[1] as string, base64: `"${url.slice(end)}` }
}

export const asDataUrl = (mime: string, base64: Literal): Literal =>
  `${literal(`data:${mime};base64,`).slice(0, -1)}${base64.slice(1)}`

// --- formats of answers

type SchemaFormat = Extract<Format, { type: 'schema' }>

/** What is said of the schema that an answer shall have. */
export const schemaMembers = ({
  name,
  description,
  schema,
  strict,
}: SchemaFormat): Record<string, JsonText | undefined> => ({
  name: literal(name ?? 'answer'),
  description: description ?? undefined,
  schema,
  strict: strict === null ? undefined : String(strict),
})

/** The same of a request; null = there is none. */
export function schemaFormat(tree: Tree, node: Node): SchemaFormat | null {
  if (tree.kind(node, 'schema') !== 'object') return null
  return {
    type: 'schema',
    name: tree.string(node, 'name'),
    schema: tree.source(node, 'schema'),
    strict: tree.boolean(node, 'strict'),
    description: tree.literal(node, 'description'),
  }
}

// --- parts of a request

/** The mark of a cache entry behind a part. */
export function breakpointOf(tree: Tree, part: Node): { cache?: CacheLife } {
  const mark = tree.get(part, 'prompt_cache_breakpoint')
  if (tree.kind(mark) !== 'object') return {}
  return { cache: tree.string(mark, 'ttl') === '12h' ? '1h' : '5m' }
}

export function mediaAt(kind: 'image' | 'video', url: Literal): MediaPart {
  const inside = dataUrl(url)
  return { type: 'media', kind, ...(inside ?? { mime: null, url }) }
}

/** A file with its data, or at an address where the protocol has one. */
export function fileAt(tree: Tree, node: Node, url: Literal | null): MediaPart {
  const data = tree.moved(node, 'file_data')
  const name = tree.literal(node, 'filename')
  const file = { type: 'media', kind: 'document', ...(name === null ? {} : { name }) } as const
  if (data !== null) return { ...file, ...(dataUrl(data) ?? { mime: 'application/pdf', base64: data }) }
  if (url === null) throw new Untranslatable('file_id')
  return { ...file, mime: null, url }
}
