/**
 * Whether a caller may make a call: what the row says about who may, compared with what is known of the caller. It asks
 * one question after the other, and the first that fails names the refusal.
 */
import type { Clock } from '../base/clock.ts'
import { isProven } from '../operations/people/sign-in.ts'
import type { Role, Scope } from '../base/people.ts'
import type { Account } from '../terms/records.ts'
import { ApiError } from './errors.ts'
import type { Identities, Identity, Operation } from './operation.ts'
import { isLoopbackAddress, type Site } from './site.ts'

/** The scopes of calls that a token with a scope may make. */
const COVERS: Record<Scope, readonly Scope[]> = {
  read: ['read'],
  keys: ['read', 'keys'],
  operator: ['read', 'keys', 'operator'],
}

/** The caller's place in the account of the path; both are null where the path has none. */
export interface Standing {
  account: Account | null
  role: Role | null
}

interface AdmitParts {
  identities: Pick<Identities, 'roleIn'>
  clock: Pick<Clock, 'now'>
  site: Site
}

type Rules = Pick<Operation, 'who' | 'effect' | 'scope' | 'stepUp' | 'viewAs'>

const NOWHERE: Standing = { account: null, role: null }

/** Throws ApiError. `accountId`: the public id that the path names. */
export async function admitCaller(
  row: Rules,
  identity: Identity | null,
  accountId: string | null,
  parts: AdmitParts,
): Promise<Standing> {
  if (row.who === 'anyone') {
    // some of these calls do more for somebody who is signed in, and a token may not do that
    if (row.scope === null && row.effect !== 'read' && identity !== null) checkToken(row, identity)
    return NOWHERE
  }
  if (identity === null) throw new ApiError('signed_out')
  checkToken(row, identity)
  if (row.who === 'operator') checkOperator(row, identity, parts.site)
  const standing = accountId === null ? NOWHERE : await standingIn(row, identity, accountId, parts)
  const isSession = identity.tokenId === null
  if (row.stepUp && isSession && !isProven(identity.provenAtMs, parts.clock.now())) throw new ApiError('step_up')
  return standing
}

function checkToken({ scope }: Rules, { tokenId, scope: allowed }: Identity): void {
  if (tokenId === null) return
  if (scope === null) throw new ApiError('session_only')
  if (allowed === null || !COVERS[allowed].includes(scope)) throw new ApiError('scope')
}

function checkOperator({ effect }: Rules, { user, secondFactor }: Identity, site: Site): void {
  if (!user.operator) throw new ApiError('operators_only')
  if (effect !== 'read' && !secondFactor && !isLoopbackAddress(site)) throw new ApiError('second_factor')
}

async function standingIn(row: Rules, identity: Identity, accountId: string, { identities }: AdmitParts) {
  const found = await identities.roleIn(identity.user.id, accountId)
  if (found === null) throw new ApiError('missing')
  const { account, role } = found
  if (typeof row.who === 'string') return { account, role }
  if (role !== null) {
    if (!row.who.includes(role)) throw new ApiError('role')
  } else if (!identity.user.operator) throw new ApiError('missing')
  else checkViewing(row, identity)
  return { account, role }
}

/** An operator who is no member of an account sees it as its members do, and changes nothing in their place. */
function checkViewing({ effect, viewAs }: Rules, { tokenId, scope }: Identity): void {
  if (effect !== 'read' || viewAs === false) throw new ApiError('view_as')
  if (tokenId !== null && scope !== 'operator') throw new ApiError('scope')
}

/** A long answer ends when its caller may have no more of it: signed out, banned, in another role, or with a token that was taken back. */
const EVERY_MS = 1_000

/**
 * Calls `check` again and again until the returned function is called, and `cut` when it refuses. A store that does not
 * answer refuses nobody.
 */
export function whileAllowed(
  clock: Clock,
  check: () => Promise<unknown>,
  cut: (refusal: ApiError) => void,
): () => void {
  let isOver = false
  let cancel = (): void => {}
  const later = () => {
    cancel = clock.after(EVERY_MS, () => void look())
  }
  const look = async () => {
    const refusal = await check().then(
      () => null,
      (error: unknown) => error,
    )
    if (isOver) return
    if (refusal instanceof ApiError) cut(refusal)
    else later()
  }
  later()
  return () => {
    isOver = true
    cancel()
  }
}
