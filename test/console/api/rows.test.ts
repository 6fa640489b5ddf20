/** What must hold of every call of the console, so that whoever adds one need not think of it. */
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import type { z } from 'zod'
import { Schemas } from '../../../lib/api/openapi.ts'
import { openApi } from '../../../lib/api/openapi.ts'
import { pathOf } from '../../../lib/api/operation.ts'
import { OPERATIONS } from '../../../lib/console/api/rows.ts'
import { type FieldFault, OperationError } from '../../../lib/operations/error.ts'
import { read } from '../../../lib/operations/read.ts'

const methodOf = (call: string) => call.split(' ')[0] as string
const namesOf = (call: string) => [...call.matchAll(/\{(\w+)\}/g)].map(m => m[1] as string)

t.test('ids and calls are named once', async t => {
  for (const texts of [OPERATIONS.map(row => row.id), OPERATIONS.map(row => `${methodOf(row.call)} ${pathOf(row)}`)])
    t.same(
      texts.filter((one, i) => texts.indexOf(one) < i),
      [],
    )
  for (const { id } of OPERATIONS) t.match(id, /^[a-z_-]+\.[a-z_-]+$/)
})

t.test('rows agree with themselves', async t => {
  for (const row of OPERATIONS) {
    const { id, call, who, effect, scope, body, path, answer, stepUp, at, viewAs } = row
    const names = namesOf(call).filter(name => name !== 'account')
    t.equal(names.length > 0, path !== undefined, `${id}: a path with names has a schema of them`)
    if (path !== undefined) t.notOk(path.safeParse({}).success, `${id}: the names of its path are checked`)
    t.equal(
      typeof who !== 'string',
      /^\w+ \/accounts\/\{account\}(\/|$)/.test(call) && who !== 'operator',
      `${id}: calls for roles stand below an account`,
    )
    if (methodOf(call) === 'GET') t.equal(effect, 'read', `${id}: a GET changes nothing`)
    if (methodOf(call) === 'GET') t.equal(body, undefined, `${id}: a GET has no body`)
    if (effect === 'read' && methodOf(call) !== 'GET') t.fail(`${id}: what reads is a GET`)
    if (who === 'operator')
      t.ok(scope === 'operator' || scope === null, `${id}: only tokens for operators do what operators do`)
    else t.not(scope, 'operator', `${id}: a call that is not for operators does not ask for their scope`)
    if (effect !== 'read' && scope !== null) t.not(scope, 'read', `${id}: a token that may read changes nothing`)
    if (stepUp) t.not(who, 'anyone', `${id}: nobody can prove who is not signed in`)
    if (viewAs !== undefined)
      t.ok(typeof who !== 'string' && effect === 'read', `${id}: viewAs is for reads of an account`)
    if (answer.status === 204 || answer.status === 303) t.equal(answer.body, null, `${id}: no body`)
    if (answer.body === 'stream') t.ok((answer.types ?? []).length > 0, `${id}: a file has a content type`)
    if (at === 'root') t.match(call, /^GET \/[\w-]+\.json$/, `${id}: beside the API stand documents only`)
    t.match(row.summary, /^[A-Z].*\.$/, `${id}: the summary is a sentence`)
  }
})

t.test('the document of all calls is valid, for operators and for everybody else', async t => {
  const parts = { title: 'T', description: 'D', root: '/console', cookie: 'session' }
  for (const rows of [OPERATIONS, OPERATIONS.filter(row => row.who !== 'operator')]) {
    const result = await new Validator().validate(structuredClone(openApi(rows, parts)))
    t.ok(result.valid, JSON.stringify(result.errors))
  }
})

/** Values of every kind, of which each form takes the fewest. */
const PROBES = [{}, [{}], [-1], [''], '', 'x\u0000', 'x'.repeat(5_000), -1, 1.5, 1e15, true, null]
const CHINESE = /[\u4e00-\u9fff]/

t.test('what should have been sent is said in both languages', async t => {
  for (const { id, query, body } of OPERATIONS)
    for (const form of [query, body].filter(form => form !== undefined)) {
      const names = new Schemas().fields(form).map(({ name }) => name)
      for (const probe of [{}, ...PROBES.map(value => Object.fromEntries(names.map(name => [name, value])))])
        for (const { field, expected } of wrongFields(form, probe)) {
          t.match(expected.zh, CHINESE, `${id} ${field}: ${expected.zh}`)
          t.notMatch(expected.en, CHINESE, `${id} ${field}: ${expected.en}`)
        }
    }
})

function wrongFields(form: z.ZodType, sent: object): readonly FieldFault[] {
  try {
    read(form, sent)
  } catch (error) {
    if (error instanceof OperationError) return error.fields
    throw error
  }
  return []
}
