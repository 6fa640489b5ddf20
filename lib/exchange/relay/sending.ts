/**
 * Sends an attempt to its upstream. Before that its request is written for an upstream of another protocol, a large body is looked
 * through, what it may cost above what is held is held, and the request is signed where its channel has no plain key; each of these may
 * take a moment. What cannot be sent is an attempt that failed, of which its listener may hear before the call returns.
 */
import type { Dispatcher } from 'undici'
import { ZERO } from '../../base/money.ts'
import type { AnswersOf } from '../../catalog/upstreams.ts'
import type { Claim } from '../../channels/health.ts'
import type { Hold } from '../../ledger/ledger.ts'
import type { Protocol } from '../../protocols/names.ts'
import { readFailure } from '../../translate/failure.ts'
import { translated } from '../../translate/table.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import type { OtherFormReading } from '../../upstream/pools.ts'
import type { Exchange } from '../record/exchange.ts'
import { fail, guard } from '../record/ending.ts'
import { prepareTranslation, prepareBody, writtenFor } from '../record/translated-request.ts'
import { countMoneyWait, moneyLeftMs, moreFor } from '../record/need.ts'
import { takeMemory } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import { upstreamRequest } from './upstream-request.ts'
import { NoMoney, Unfit } from './upstream-status.ts'

/** The request goes out at once where nothing is to be waited for, and never for an attempt that was closed meanwhile. */
export function send(x: Exchange, services: Services, attempt: Attempt): void {
  const written = prepareTranslation(x, services, attempt.claim.candidate)
  if (written === null) whenWritten(x, services, attempt)
  else
    when(x, services, attempt, written, fits => {
      if (fits) whenWritten(x, services, attempt)
      else attempt.onResponseError(null, new Unfit())
    })
}

function whenWritten(x: Exchange, services: Services, attempt: Attempt): void {
  const read = prepareBody(x, services, attempt.claim.candidate, () => attempt.over)
  if (read === null) whenRead(x, services, attempt)
  else when(x, services, attempt, read, () => whenRead(x, services, attempt))
}

function whenRead(x: Exchange, services: Services, attempt: Attempt): void {
  const { ledger } = services
  const more = moreFor(x, services, attempt.claim.candidate)
  if (more === ZERO || ledger.grow(x.hold as Hold, more)) {
    sendPrepared(x, services, attempt)
    return
  }
  const grown = ledger.growLater(x.hold as Hold, more, moneyLeftMs(x)).catch(() => false)
  when(x, services, attempt, countMoneyWait(x, services, grown), isHeld => {
    if (isHeld) sendPrepared(x, services, attempt)
    else attempt.onResponseError(null, new NoMoney())
  })
}

/** Goes on when something is ready, unless the attempt was closed meanwhile. */
function when<T>(x: Exchange, services: Services, attempt: Attempt, ready: Promise<T>, goOn: (found: T) => void): void {
  ready.then(
    found =>
      guard(x, services, () => {
        if (!attempt.over) goOn(found)
      }),
    error => fail(x, services, error),
  )
}

/** Sends what needs no money and is written already. */
export function sendPrepared(x: Exchange, services: Services, attempt: Attempt): void {
  const { claim } = attempt
  try {
    const request = upstreamRequest(x, services, claim)
    const form = formOf(x, services, claim)
    if (claim.key.credential === null) services.pools.send(attempt, request, form, x.free)
    else sign(x, services, attempt, request, form)
  } catch (error) {
    attempt.onResponseError(null, error as Error)
  }
}

/** The form of the answer, by the protocol in which the candidate is asked, or by a form of its kind's own. */
function formOf(x: Exchange, services: Services, { candidate }: Claim): AnswersOf | OtherFormReading | null {
  const { channel, translation } = candidate
  const written = writtenFor(x, services, candidate)
  if (written === null) return channel.answers[translation?.via ?? (x.form as Protocol)] ?? null
  return {
    reader: written.reader(),
    error: (status, body) =>
      Buffer.from(
        translated(ERRORS_AS[x.form as Protocol] ?? 'chat').writeError(readFailure(status, body)).body,
        'latin1',
      ),
    takes: bytes => takeMemory(x, services.buffered, bytes, x.world.config.limits.bufferedBytes),
  }
}

/** The protocols with which forms share their errors, of those whose upstreams answer in other forms; the others do with chat. */
const ERRORS_AS: Partial<Readonly<Record<Protocol, Protocol>>> = { nativeEmbeddings: 'generate' }

/** The request goes out at once, unless a token must be waited for. */
function sign(
  x: Exchange,
  services: Services,
  attempt: Attempt,
  request: Dispatcher.DispatchOptions,
  form: AnswersOf | OtherFormReading | null,
): void {
  const go = (signature: readonly string[]): void => {
    if (attempt.over) return // it was closed while the token was waited for
    attempt.signedWith(signature)
    const headers = [...(request.headers as string[]), ...signature]
    services.pools.send(attempt, { ...request, headers }, form, x.free)
  }
  const signature = services.signers.of(attempt.claim.key).sign(request)
  if (!(signature instanceof Promise)) go(signature)
  else signature.then(go).catch(error => guard(x, services, () => attempt.onResponseError(null, error as Error)))
}
