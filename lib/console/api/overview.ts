/** The call behind the page Overview. */
import { type Operation, operation } from '../../api/operation.ts'
import { overviewAnswer } from '../../operations/usage/usage.ts'
import { reportJson } from '../../operations/usage/reports.ts'
import { type ConsoleDeps, readerOf } from './shared.ts'
import { MAY, may } from '../../../web/shared/roles.ts'

export const OVERVIEW: Operation<ConsoleDeps>[] = [
  operation({
    id: 'overview.read',
    call: 'GET /accounts/{account}/overview',
    summary: 'Balance, spending, the last requests and failures of an account, and what to do first.',
    who: MAY.readTotals,
    scope: 'read',
    limit: 'heavy',
    answer: { status: 200, body: overviewAnswer },
    run: async (deps: ConsoleDeps, call) => {
      const { role } = call.caller
      const single = role === null || may(role, 'readRequests')
      return reportJson(deps, 'overview', await readerOf(deps, call), single)
    },
  }),
]
