/** The calls behind the pages Requests and Receipt. */
import { z } from 'zod'
import { type Call, type Operation, operation, type Streamed } from '../../api/operation.ts'
import { reportJson } from '../../operations/usage/reports.ts'
import {
  EXPORT_TYPES,
  type ExportFormat,
  exportQuery,
  Requests,
  receiptAnswer,
  refusalsAnswer,
  refusalsQuery,
  requestIdText,
  requestsAnswer,
  requestsQuery,
} from '../../operations/usage/requests.ts'
import { type ConsoleDeps, readerOf, seesInternals } from './shared.ts'
import { MAY } from '../../../web/shared/roles.ts'

type ExportCall = Call<unknown, z.output<typeof exportQuery>>

async function file(deps: ConsoleDeps, call: ExportCall, format: ExportFormat): Promise<Streamed> {
  const pieces = await new Requests(deps).export(await readerOf(deps, call), format, call.query, call.caller.language)
  return { type: EXPORT_TYPES[format], file: `requests.${format}`, pieces }
}

const exported = (format: ExportFormat) =>
  operation({
    id: `requests.${format}`,
    call: `GET /accounts/{account}/requests.${format}`,
    summary:
      format === 'csv'
        ? 'All requests of a filter as CSV, in the order of `sort`. The last line says how many there are.'
        : 'All requests of a filter in the order of `sort`, a JSON object a line with its receipt. The last line says how many there are.',
    who: MAY.readRequests,
    scope: 'read',
    viewAs: false,
    limit: 'heavy',
    query: exportQuery,
    answer: { status: 200, body: 'stream', types: [EXPORT_TYPES[format]] },
    refuses: [400, 404],
    run: (deps: ConsoleDeps, call) => file(deps, call, format),
  })

export const REQUESTS: Operation<ConsoleDeps>[] = [
  operation({
    id: 'requests.list',
    call: 'GET /accounts/{account}/requests',
    summary:
      'Requests, newest first unless `sort` says otherwise. A page looks at a bounded number of rows; `scanned_to` says how far, and `next` goes on.',
    who: MAY.readRequests,
    scope: 'read',
    limit: 'heavy',
    query: requestsQuery,
    answer: { status: 200, body: requestsAnswer },
    refuses: [400, 404],
    run: async (deps: ConsoleDeps, call) => reportJson(deps, 'requests', await readerOf(deps, call), call.query),
  }),
  exported('csv'),
  exported('jsonl'),
  operation({
    id: 'requests.live',
    call: 'GET /accounts/{account}/requests/live',
    summary: 'Events that say when there are newer requests. Four streams a user; one ends when the process does.',
    who: MAY.readRequests,
    answer: { status: 200, body: 'stream', types: ['text/event-stream'], live: true },
    run: async (deps: ConsoleDeps, call) => ({
      type: 'text/event-stream',
      pieces: new Requests(deps).live(() => readerOf(deps, call), deps.clock, deps.isDraining),
    }),
  }),
  operation({
    id: 'requests.read',
    call: 'GET /accounts/{account}/requests/{request}',
    summary: 'The receipt of a request, or why it was refused; 410 with the totals of its day when its row is deleted.',
    who: MAY.readRequests,
    scope: 'read',
    path: z.strictObject({ request: requestIdText }),
    answer: { status: 200, body: receiptAnswer },
    refuses: [404, 410],
    run: async (deps: ConsoleDeps, call) =>
      new Requests(deps).receipt(await readerOf(deps, call), call.path.request, seesInternals(call)),
  }),
  operation({
    id: 'refusals.list',
    call: 'GET /accounts/{account}/refusals',
    summary: 'Requests that were refused before an upstream was asked, in the order of `sort`: why, and what to do.',
    who: MAY.readRequests,
    scope: 'read',
    limit: 'heavy',
    query: refusalsQuery,
    answer: { status: 200, body: refusalsAnswer },
    refuses: [400, 404],
    run: async (deps: ConsoleDeps, call) => reportJson(deps, 'refusals', await readerOf(deps, call), call.query),
  }),
]
