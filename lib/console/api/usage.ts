/** The calls behind the page Usage, and behind the filters that it shares with the page Requests. */
import { type Operation, operation } from '../../api/operation.ts'
import { CSV_TYPE } from '../../operations/csv.ts'
import { reportFile, reportJson } from '../../operations/usage/reports.ts'
import { choicesAnswer, choicesQuery, totalsFileQuery, totalsQuery, usageAnswer } from '../../operations/usage/usage.ts'
import { type ConsoleDeps, readerOf, seesMembers } from './shared.ts'
import { MAY } from '../../../web/shared/roles.ts'

export const USAGE: Operation<ConsoleDeps>[] = [
  operation({
    id: 'usage.read',
    call: 'GET /accounts/{account}/usage',
    summary:
      'What an account used in a period: totals, a chart by day or hour in stacks, and a table with the same numbers.',
    who: MAY.readTotals,
    scope: 'read',
    limit: 'heavy',
    query: totalsQuery,
    answer: { status: 200, body: usageAnswer },
    refuses: [400, 404],
    run: async (deps: ConsoleDeps, call) => reportJson(deps, 'usage', await readerOf(deps, call), call.query),
  }),
  operation({
    id: 'usage.csv',
    call: 'GET /accounts/{account}/usage.csv',
    summary: 'The table of usage as CSV, a line for each stack. The last line says how many there are.',
    who: MAY.readTotals,
    scope: 'read',
    viewAs: false,
    limit: 'heavy',
    query: totalsFileQuery,
    answer: { status: 200, body: 'stream', types: [CSV_TYPE] },
    refuses: [400, 404],
    run: async (deps: ConsoleDeps, call) => ({
      type: CSV_TYPE,
      file: `usage-by-${call.query.stack}.csv`,
      pieces: await reportFile(deps, 'usageFile', await readerOf(deps, call), call.query, call.caller.language),
    }),
  }),
  operation({
    id: 'usage.choices',
    call: 'GET /accounts/{account}/usage/choices',
    summary: 'What usage can be filtered by: the keys, models, groups and protocols of a period, members, and reasons.',
    who: MAY.readTotals,
    scope: 'read',
    limit: 'heavy',
    query: choicesQuery,
    answer: { status: 200, body: choicesAnswer },
    refuses: [400, 404],
    run: async (deps: ConsoleDeps, call) =>
      reportJson(deps, 'choices', await readerOf(deps, call), call.query, seesMembers(call)),
  }),
]
