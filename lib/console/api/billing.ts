/** The calls behind the page Billing: balance, ledger, statements, and the balance of which people want to be warned. */
import { z } from 'zod'
import { type Operation, operation } from '../../api/operation.ts'
import { Accounts, balanceAnswer, lowBalanceAnswer, lowBalanceForm } from '../../operations/accounts/accounts.ts'
import { Entries, entriesAnswer, entriesQuery } from '../../operations/billing/entries.ts'
import {
  monthName,
  monthsAnswer,
  monthsQuery,
  Statements,
  statementAnswer,
  statementFileQuery,
} from '../../operations/billing/statement.ts'
import { CSV_TYPE } from '../../operations/csv.ts'
import { reportFile, reportJson } from '../../operations/usage/reports.ts'
import type { ConsoleDeps } from './shared.ts'
import { MAY } from '../../../web/shared/roles.ts'

const read = { who: MAY.readMoney, effect: 'read', scope: 'read' } as const
const ofMonth = z.strictObject({ month: monthName })

export const BILLING: Operation<ConsoleDeps>[] = [
  operation({
    id: 'balance.read',
    call: 'GET /accounts/{account}/balance',
    summary: 'Balance, what open requests hold, and what is available.',
    ...read,
    answer: { status: 200, body: balanceAnswer },
    run: (deps: ConsoleDeps, { account }) => new Accounts(deps).balance(account),
  }),
  operation({
    id: 'entries.list',
    call: 'GET /accounts/{account}/entries',
    summary: 'The ledger, newest first, with the balance after each line; the charges of a day are one line.',
    ...read,
    query: entriesQuery,
    answer: { status: 200, body: entriesAnswer },
    refuses: [400],
    run: (deps: ConsoleDeps, { account, query }) => new Entries(deps).own(account, query),
  }),
  operation({
    id: 'entries.csv',
    call: 'GET /accounts/{account}/entries.csv',
    summary: 'The whole ledger as CSV, oldest first. The last line says how many lines there are.',
    ...read,
    viewAs: false,
    limit: 'heavy',
    query: statementFileQuery,
    answer: { status: 200, body: 'stream', types: [CSV_TYPE] },
    refuses: [400],
    run: async (deps: ConsoleDeps, { account, query, caller }) => ({
      type: CSV_TYPE,
      file: 'ledger.csv',
      pieces: await reportFile(deps, 'ledgerFile', account, query.heads, caller.language),
    }),
  }),
  operation({
    id: 'statements.list',
    call: 'GET /accounts/{account}/statements',
    summary: 'The months that have a statement, newest first.',
    ...read,
    query: monthsQuery,
    answer: { status: 200, body: monthsAnswer },
    refuses: [400],
    run: (deps: ConsoleDeps, { account, query }) => new Statements(deps).months(account, query.after),
  }),
  operation({
    id: 'statements.read',
    call: 'GET /accounts/{account}/statements/{month}',
    summary: 'The statement of a month: opening balance, credits, charges by model, closing balance.',
    ...read,
    limit: 'heavy',
    path: ofMonth,
    answer: { status: 200, body: statementAnswer },
    refuses: [400],
    run: (deps: ConsoleDeps, { account, path }) => reportJson(deps, 'statement', account, path.month),
  }),
  operation({
    id: 'statements.csv',
    call: 'GET /accounts/{account}/statements/{month}/csv',
    summary: 'The statement of a month as CSV.',
    ...read,
    viewAs: false,
    limit: 'heavy',
    path: ofMonth,
    query: statementFileQuery,
    answer: { status: 200, body: 'stream', types: [CSV_TYPE] },
    refuses: [400],
    run: async (deps: ConsoleDeps, { account, path, query, caller }) => ({
      type: CSV_TYPE,
      file: `statement-${path.month}.csv`,
      pieces: await reportFile(deps, 'statementFile', account, path.month, query.heads, caller.language),
    }),
  }),
  operation({
    id: 'low-balance.set',
    call: 'PUT /accounts/{account}/low-balance',
    summary: 'Sets the balance below which the account’s people want to be warned; null = never.',
    who: MAY.pay,
    body: lowBalanceForm,
    answer: { status: 200, body: lowBalanceAnswer },
    refuses: [400],
    run: (deps: ConsoleDeps, { account, body, caller }) =>
      new Accounts(deps).setLowBalance(account, body.amount, caller.actor),
  }),
]
