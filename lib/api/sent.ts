/** What a call is sent: path, query and body, read and checked by the forms of its row. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { OperationError } from '../operations/error.ts'
import { read } from '../operations/read.ts'
import type { Words } from '../base/people.ts'
import { readObject } from './body.ts'
import { ApiError } from './errors.ts'
import type { Call, Operation } from './operation.ts'

export const MOST_BODY_BYTES = 64 * 1024
export const MOST_BODY_SHOWN = '64KiB'
const BODY_MS = 10_000
/** Longer ids are nobody's. */
export const LONGEST_ID = 100
const NOTHING = z.strictObject({})

export type Sent = Pick<Call, 'path' | 'query' | 'body'>

interface Address {
  /** The decoded parameters of the path. */
  names: Record<string, string>
  /** As it was sent. */
  query: string
  clock: Clock
}

type Forms = Pick<Operation, 'path' | 'query' | 'body'>

export async function readSent(
  req: IncomingMessage,
  res: ServerResponse,
  forms: Forms,
  address: Address,
): Promise<Sent> {
  const { account: _, ...own } = address.names
  const path = (forms.path ?? NOTHING).safeParse(own)
  if (!path.success) throw new ApiError('missing') // what has no such form is nobody's id
  const query = read(forms.query ?? NOTHING, parameters(address.query))
  return { path: path.data, query, body: await bodyOf(req, res, forms, address.clock) }
}

/** Empty parameters are dropped, so that `?key=&model=x` filters by the model only. */
function parameters(query: string): Record<string, string> {
  const given = [...new URLSearchParams(query)].filter(([, value]) => value !== '')
  const seen = new Set<string>()
  const twice = given.find(([name]) => seen.size === seen.add(name).size)
  if (twice === undefined) return Object.fromEntries(given)
  const expected: Words = { zh: '只出现一次', en: 'once' }
  const field = twice[0].slice(0, LONGEST_ID)
  throw new OperationError('invalid', { zh: `${field}: 只能出现一次`, en: `${field}: may stand here once` }, {}, [
    { field, expected },
  ])
}

async function bodyOf(req: IncomingMessage, res: ServerResponse, { body = NOTHING }: Forms, clock: Clock) {
  const { method, headers } = req
  if (method === 'GET' || method === 'HEAD') return undefined
  if (headers.expect !== undefined) res.writeContinue()
  return read(body, await readObject(req, { clock, mostBytes: MOST_BODY_BYTES, withinMs: BODY_MS }))
}
