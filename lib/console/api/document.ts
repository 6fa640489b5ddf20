/** The description of the API itself, which programs and the reference page read. */
import { z } from 'zod'
import { sessionCookie } from '../../api/site.ts'
import { type Described, openApi } from '../../api/openapi.ts'
import { type Operation, operation } from '../../api/operation.ts'
import type { ConsoleDeps } from './deps.ts'

const TITLE = 'Console'
const DESCRIPTION =
  'The calls behind the pages of the console. A program sends a personal token as `authorization: Bearer gwp_…`. ' +
  'Money is text with six decimals, in CNY; times are ISO 8601 in UTC; lists are `{data, next}`, and `after` is the ' +
  '`next` of the page before.'

/** `rows`: all calls, this one too. Calls of operators are shown to operators only. */
export function documentRows(rows: () => readonly Described[]): Operation<ConsoleDeps>[] {
  const made = new Map<string, object>()
  const make = (operators: boolean, cookie: string): object => {
    const key = `${operators} ${cookie}`
    const shown = rows().filter(row => operators || row.who !== 'operator')
    const document =
      made.get(key) ?? openApi(shown, { title: TITLE, description: DESCRIPTION, root: '/console', cookie })
    made.set(key, document)
    return document
  }
  return [
    operation({
      id: 'document.read',
      call: 'GET /openapi.json',
      at: 'root',
      summary: 'This document. Operators see their own calls in it too.',
      who: 'anyone',
      effect: 'read',
      scope: 'read',
      answer: { status: 200, body: z.looseObject({ openapi: z.string() }) },
      run: async ({ config }: ConsoleDeps, { caller }) =>
        make(caller.user?.operator === true, sessionCookie(config().public)),
    }),
  ]
}
