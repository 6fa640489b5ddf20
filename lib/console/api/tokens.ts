/** The calls about personal tokens. A token cannot make or end tokens. */
import { z } from 'zod'
import { operation } from '../../api/operation.ts'
import * as tokens from '../../operations/people/tokens.ts'
import { SCOPES } from '../../base/people.ts'
import type { ConsoleDeps } from './deps.ts'
import { listOf } from './members.ts'
import { rowId } from './shared.ts'

const time = z.iso.datetime()

const token = z.strictObject({
  id: z.string(),
  name: z.string(),
  hint: z.string(),
  scope: z.enum(SCOPES),
  allow_ips: z.array(z.string()).nullable(),
  created_at: time,
  expires_at: time,
  used_at: time.nullable(),
})

export const TOKENS = [
  operation({
    id: 'tokens.list',
    call: 'GET /me/tokens',
    summary: 'Your personal tokens.',
    who: 'user',
    effect: 'read',
    scope: null,
    answer: { status: 200, body: listOf(token.meta({ id: 'Token' })) },
    run: (deps: ConsoleDeps, { caller }) => tokens.listTokens(deps, caller),
  }),
  operation({
    id: 'tokens.create',
    call: 'POST /me/tokens',
    summary: 'Make a personal token. Its secret is shown once.',
    who: 'user',
    effect: 'danger',
    scope: null,
    stepUp: true,
    body: tokens.tokenForm,
    answer: { status: 201, body: token.extend({ secret: z.string() }).meta({ id: 'NewToken' }) },
    refuses: [400, 403, 409],
    run: (deps: ConsoleDeps, { caller, body }) => tokens.createToken(deps, caller, body),
  }),
  operation({
    id: 'tokens.end',
    call: 'DELETE /me/tokens/{id}',
    summary: 'End a personal token.',
    who: 'user',
    effect: 'write',
    scope: null,
    path: rowId,
    answer: { status: 204, body: null },
    refuses: [404],
    async run(deps: ConsoleDeps, { caller, path }) {
      await tokens.endToken(deps, caller, path.id)
      return null
    },
  }),
]
