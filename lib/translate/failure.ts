/** Reads what went wrong at an upstream, whatever form its error has. */
import type { Failure, FailureKind } from './events.ts'
import { NONE, type Node, Tree } from './json/tree.ts'

const LONGEST_BODY = 64 * 1024
const LONGEST_MESSAGE = 4096

const BY_STATUS: Readonly<Record<number, FailureKind>> = {
  400: 'invalid',
  404: 'not_found',
  408: 'timeout',
  413: 'too_large',
  422: 'invalid',
  429: 'rate',
  504: 'timeout',
  529: 'overloaded',
}
/**
 * Types, codes and statuses by which providers name their errors in their documentation, where no status of HTTP came with them. Of a code
 * with parts the first part is enough: `InvalidParameter.DataInspection`.
 */
const WORDS: readonly [kind: FailureKind, status: number, words: string][] = [
  ['invalid', 400, 'invalid_request_error invalid_prompt context_length_exceeded content_policy_violation bio_policy'],
  ['invalid', 400, 'invalid_image invalid_image_format invalid_base64_image invalid_image_url invalid_image_mode'],
  ['invalid', 400, 'image_too_large image_too_small image_parse_error image_content_policy_violation'],
  ['invalid', 400, 'image_file_too_large unsupported_image_media_type empty_image_file failed_to_download_image'],
  ['invalid', 400, 'image_file_not_found INVALID_ARGUMENT OUT_OF_RANGE content_filter BadRequest BadRequestError'],
  // Alibaba Cloud, Volcengine, Z.AI
  ['invalid', 400, 'data_inspection_failed DataInspectionFailed InvalidParameter MissingParameter'],
  ['invalid', 400, 'SensitiveContentDetected InputTextSensitiveContentDetected InputImageSensitiveContentDetected'],
  ['invalid', 400, 'OutputTextSensitiveContentDetected OutputImageSensitiveContentDetected'],
  ['invalid', 400, '1210 1212 1213 1214 1215 1301'],
  ['not_found', 404, 'not_found_error resource_not_found_error model_not_found NOT_FOUND NotFound NotFoundError'],
  ['not_found', 404, 'ModelNotFound 1211'],
  ['too_large', 413, 'request_too_large'],
  ['timeout', 504, 'timeout_error DEADLINE_EXCEEDED'],
  ['rate', 429, 'rate_limit_error rate_limit_exceeded rate_limit_reached_error RESOURCE_EXHAUSTED'],
  ['rate', 429, 'RateLimitExceeded TooManyRequests Throttling 1302'],
  ['quota', 429, 'insufficient_quota exceeded_current_quota_error QuotaExceeded'],
  ['overloaded', 529, 'overloaded_error server_is_overloaded engine_overloaded_error'],
  ['overloaded', 503, 'UNAVAILABLE'],
]
const BY_WORD: ReadonlyMap<string, readonly [FailureKind, number]> = new Map(
  WORDS.flatMap(([kind, status, words]) => words.split(' ').map(word => [word, [kind, status]])),
)
const meaningOf = (word: string) => BY_WORD.get(word) ?? BY_WORD.get(word.split('.')[0] as string)
const OF_REQUEST: ReadonlySet<FailureKind> = new Set<FailureKind>(['invalid', 'context', 'too_large', 'not_found'])
const CONTEXT =
  /context_length_exceeded|maximum context length|context window|prompt is too long|input token count.{0,40}exceeds/i

/** An error that an upstream answered in the place of an answer. */
export function readFailure(status: number, body: Buffer): Failure {
  const tree = new Tree()
  const text = body.subarray(0, LONGEST_BODY).toString('latin1')
  if (!tree.read(text)) return failureOf(status, [], plain(body))
  // Google's errors may stand in an array
  const root = tree.kind(tree.root) === 'array' ? (tree.elements(tree.root)[0] ?? NONE) : tree.root
  return failureIn(tree, root, status)
}

/** The error that is all that came of an answer, in events or as a document. */
export function readFirstFailure(bytes: Buffer): Failure {
  const text = bytes.subarray(0, LONGEST_BODY).toString('latin1')
  const tree = new Tree()
  for (const one of [text, ...text.split('\n').map(line => line.replace(/^data:/, ''))]) {
    if (!one.includes('"error"') || !tree.read(one)) continue
    const response = tree.get(tree.root, 'response')
    return failureIn(tree, tree.kind(response) === 'object' ? response : tree.root)
  }
  return failureOf(0, [], '')
}

/**
 * The upstream says that the request is wrong, or its answer is one that a request can cause as often as a client likes: its channel is not
 * to blame, as for a status of that meaning.
 */
export const blamesRequest = ({ kind, isCaused }: Failure): boolean => isCaused === true || OF_REQUEST.has(kind)

/** An error in an event: `status` 0 = its words say which one it would be. */
export function failureIn(tree: Tree, node: Node, status = 0): Failure {
  const inner = tree.get(node, 'error')
  const error = tree.kind(inner) === 'object' ? inner : node
  const words = ['code', 'type', 'status'].map(name => tree.string(error, name) ?? '')
  const number = tree.number(error, 'code') ?? 0
  const message = textIn(tree, error) ?? plain(Buffer.from(tree.source(node), 'latin1'))
  return failureOf(status === 0 && number >= 400 && number < 600 ? number : status, words, message)
}

/** Where providers have the text of an error; in some it stands in objects or lists of these names. */
const TEXTS = ['message', 'detail', 'msg', 'status_msg', 'error', 'base_resp']
const DEEPEST_TEXT = 4

function textIn(tree: Tree, node: Node, depth = 0): string | null {
  const text = tree.string(node)
  if (text !== null || depth > DEEPEST_TEXT) return text
  const [first] = tree.elements(node)
  if (first !== undefined) return textIn(tree, first, depth + 1)
  for (const name of TEXTS) {
    const found = textIn(tree, tree.get(node, name), depth + 1)
    if (found !== null) return found
  }
  return null
}

function failureOf(status: number, words: readonly string[], message: string): Failure {
  const named = words.map(meaningOf).find(found => found !== undefined)
  const known = status === 0 ? (named?.[1] ?? 500) : status
  const text = message === '' ? `The upstream answered ${known}.` : message.slice(0, LONGEST_MESSAGE)
  const isPrompt = known < 500 && (words.includes('context_length_exceeded') || CONTEXT.test(message))
  const own = status === 0 || named?.[0] === 'quota' ? named?.[0] : undefined
  return {
    kind: isPrompt ? 'context' : (own ?? BY_STATUS[known] ?? (known < 500 ? 'invalid' : 'server')),
    status: known,
    message: text,
  }
}

const plain = (body: Buffer): string => body.subarray(0, LONGEST_MESSAGE).toString().trim()
