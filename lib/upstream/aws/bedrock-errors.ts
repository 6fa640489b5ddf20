/**
 * What Bedrock says about failures, in the words of the messages protocol, or of OpenAI's. Bedrock names an exception: in the header
 * `x-amzn-errortype` of an answer, as `:exception-type` of a frame in a stream, or as `__type` in the body. What is an error of the protocol already
 * stays as it is.
 */
import { type Fields, isFields } from '../../protocols/json/text.ts'
import type { AnswersOf } from '../../protocols/words/kinds.ts'

/** The type of an error of the messages protocol, and the status that goes with it. */
type Told = readonly [type: string, status: number]

const RATE: Told = ['rate_limit_error', 429]
const SERVER: Told = ['api_error', 500]

/** By the name of the exception, as it stands in front of `Exception`. */
const EXCEPTIONS: Readonly<Record<string, Told>> = {
  AccessDenied: ['permission_error', 403],
  InternalServer: SERVER,
  // 424 in Bedrock: the model failed, which is nothing that the client can cure
  ModelError: SERVER,
  ModelNotReady: RATE,
  ModelStreamError: SERVER,
  ModelTimeout: ['timeout_error', 408],
  ResourceNotFound: ['not_found_error', 404],
  // 400 in Bedrock: the account at the provider has no more of something, which another channel may have
  ServiceQuotaExceeded: RATE,
  ServiceUnavailable: ['overloaded_error', 503],
  Throttling: RATE,
  Validation: ['invalid_request_error', 400],
}
const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}
const FAILED_DEPENDENCY = 424
const LONGEST_MESSAGE = 4096

interface BedrockError {
  status: number
  /** An error of the protocol, as JSON. */
  body: string
  /** The cause that no other request cures, for operators; null = nothing is known of it. */
  cause: string | null
}

/** `named`: what the header says; undefined = nothing. */
export function bedrockError(form: AnswersOf, status: number, named: string | undefined, body: Buffer): BedrockError {
  const fields = parsed(body)
  if (isFields(fields?.['error'])) return { status, body: body.toString(), cause: null }
  const name = nameOf(named ?? textOf(fields?.['__type']) ?? '')
  const message = messageOf(fields, body) || `Bedrock answered ${status}${name === '' ? '' : ` (${name})`}.`
  const [type, known] = told(name, status)
  return { status: known, body: errorJson(form, type, message), cause: causeOf(name, message) }
}

/** An exception in a stream, as the data of an `error` event. */
export function bedrockException(form: AnswersOf, named: string, payload: Buffer): string {
  const fields = parsed(payload)
  const name = nameOf(named)
  const message = messageOf(fields, payload) || `Bedrock broke off its answer${name === '' ? '' : ` (${name})`}.`
  return errorJson(form, told(name, 0)[0], message)
}

function told(name: string, status: number): Told {
  const known = Object.hasOwn(EXCEPTIONS, name) ? EXCEPTIONS[name] : undefined
  if (known !== undefined) return known
  const own = status === 0 || status === FAILED_DEPENDENCY ? 500 : status
  return [BY_STATUS[own] ?? (own < 500 ? 'invalid_request_error' : 'api_error'), own]
}

/**
 * `ThrottlingException:http://internal.amazon.com/…`, `com.amazon.coral.service#ThrottlingException` and `throttlingException` are
 * all the same.
 */
function nameOf(named: string): string {
  const bare = (named.split(':', 1)[0] as string).replace(/^.*#/, '').replace(/Exception$/, '')
  return bare.charAt(0).toUpperCase() + bare.slice(1)
}

const CLOCK = /signature (expired|not yet current)|is now (earlier|later) than|request time too skewed/i

/** A refused credential: which of them, or whether it is the clock. */
function causeOf(name: string, message: string): string | null {
  if (name === 'RequestTimeTooSkewed' || CLOCK.test(message))
    return 'the clock of this machine and that of AWS differ by more than AWS allows'
  if (name === 'InvalidSignature' || name === 'IncompleteSignature')
    return 'AWS finds the signature wrong: the secret access key or the region is not right'
  if (name === 'ExpiredToken') return 'the session token has expired'
  if (name === 'UnrecognizedClient' || name === 'InvalidClientTokenId')
    return 'AWS does not know the access key, or the session token does not belong to it'
  return name === 'AccessDenied' ? 'the credential may not use the model' : null
}

function errorJson(form: AnswersOf, type: string, said: string): string {
  const message = said.slice(0, LONGEST_MESSAGE)
  if (form === 'openai-on-aws') return JSON.stringify({ error: { message, type, param: null, code: null } })
  return JSON.stringify({ type: 'error', error: { type, message } })
}

function parsed(body: Buffer): Fields | null {
  try {
    const value: unknown = JSON.parse(body.toString())
    return isFields(value) ? value : null
  } catch {
    return null
  }
}

/** Bedrock's words for a prompt that the model has no room for, and those by which clients of the messages protocol know it. */
const TOO_LONG = /^input is too long/i
const THEIR_WORDS = 'prompt is too long'

function messageOf(fields: Fields | null, body: Buffer): string {
  const said = saidIn(fields, body)
  return TOO_LONG.test(said) ? `${THEIR_WORDS}: ${said}` : said
}

/** A body that is no object is the message itself. */
function saidIn(fields: Fields | null, body: Buffer): string {
  if (fields === null) return body.toString('utf8', 0, LONGEST_MESSAGE).trim()
  return textOf(fields['message']) ?? textOf(fields['Message']) ?? textOf(fields['originalMessage']) ?? ''
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
