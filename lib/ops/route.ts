/** A call of the admin API: method and path, and the function that answers it. */
import type { Actor } from '../base/people.ts'
import { type Answer, created, ok } from './answer.ts'

export type Body = Record<string, unknown> | undefined

/** `names`: the decoded parameters of the path. */
export type Handler = (names: Names, query: URLSearchParams, body: Body, actor: Actor) => Promise<Answer>
type Names = Partial<Record<'name' | 'id', string>>
export type Route = [call: string, handle: Handler]

export const route = (call: string, handle: Handler): Route => [call, handle]

/** 201 for what was made by this call, 200 for what an earlier one made. */
export const once = (done: { created: boolean; row: object }): Answer =>
  done.created ? created(done.row) : ok(done.row)

/** The query as an object. Empty parameters are dropped, so that `?account=&model=x` filters by the model only. */
export const parameters = (query: URLSearchParams): Record<string, string> =>
  Object.fromEntries([...query].filter(([, value]) => value !== ''))
