/**
 * What signed-in people see and change of their own user: profile, password, e-mail, second factor, personal tokens, and the
 * OpenID providers that vouch for them.
 *
 * A second factor counts after one confirmed code, and a code works once: its step is used up with it. With personal tokens
 * programs make the calls of the console in a person's place; their secrets are shown once.
 */
import { withoutUndefined } from '../../base/objects.ts'
import { DAY_MS, iso, isoOrNull } from '../../base/clock.ts'
import { z } from 'zod'
import { LANGUAGES, type Language, type Person, SCOPES, THEMES } from '../../base/people.ts'
import { hashOf, newPersonalToken, personalHint } from '../../base/secrets.ts'
import { announced } from '../../config/config.ts'
import * as kind from '../../config/scalars.ts'
import type { PersonalToken } from '../../store/people/records.ts'
import { inForce } from '../deps.ts'
import { OperationError, both } from '../error.ts'
import {
  type By,
  LINK_GONE,
  type PeopleDeps,
  WRONG_CODE,
  actAs,
  actBy,
  type emailForm,
  type secretForm,
} from './deps.ts'
import { newLink } from './links.ts'
import { PROOF_MS, type Vouched } from './sign-in.ts'
import { letter } from './mail.ts'
import { checkNew, password, typedPassword } from './passwords.ts'
import { tryMail, tryStepUp, tryUnknown } from './throttle.ts'
import { newRecoveryCodes, newTotpSecret, provisioningUri, recoveryHash, stepOf } from './totp.ts'

export { Passkeys, passkeyForm, renamingForm } from './passkeys.ts'

export const codeForm = z.strictObject({ code: z.string().max(16) })

const MOST_DAYS = 366
const MOST_NETWORKS = 50

export const tokenForm = z.strictObject({
  name: kind.name,
  scope: z.enum(SCOPES),
  expires_at: kind.time,
  allow_ips: z.array(kind.network).max(MOST_NETWORKS).nullable().prefault(null),
})

const shown = (token: PersonalToken) => ({
  id: token.publicId,
  name: token.name,
  hint: token.hint,
  scope: token.scope,
  allow_ips: token.allowIps,
  created_at: iso(token.createdAtMs),
  expires_at: iso(token.expiresAtMs),
  used_at: isoOrNull(token.usedAtMs),
})

export const profileForm = z.strictObject({
  name: kind.name.optional(),
  language: z.enum(LANGUAGES).nullable().optional(),
  theme: z.enum(THEMES).nullable().optional(),
})
export const passwordForm = z.strictObject({ old: typedPassword.optional(), new: password })

const NO_MAIL = () =>
  new OperationError('conflict', both('此网关未配置邮件', 'this gateway sends no mail: ask an operator'))

export class OwnUser {
  readonly #deps: PeopleDeps

  constructor(deps: PeopleDeps) {
    this.#deps = deps
  }

  /** The secret is shown to the person as text and as a picture; it counts after `confirmFactor`. */
  async startFactor(person: Person) {
    const { store, config } = this.#deps
    const { name, languages } = config().site
    const secret = newTotpSecret()
    await store.people.credentials.startTotp(person.id, secret)
    const uri = provisioningUri(secret, name[person.language ?? (languages[0] as Language)], person.email)
    const { renderSVG } = await import('uqr')
    return { secret, uri, qr: renderSVG(uri, { border: 4, pixelSize: 4, ecc: 'M' }) }
  }

  /** Returns recovery codes, which are never shown again. Ends all sessions; `mark`, here and below: of the credentials in force then. */
  async confirmFactor(by: By, { code }: z.output<typeof codeForm>) {
    const { store, clock } = this.#deps
    const userId = by.user!.id
    const secret = (await store.people.credentials.of(userId))?.totpNext ?? null
    if (secret === null)
      throw new OperationError('conflict', both('请先开始设置验证器', 'begin with a new secret for the app first'))
    const confirmedStep = stepOf(secret, code.replace(/\s/g, ''), clock.now())
    if (confirmedStep === null) throw WRONG_CODE()
    const codes = newRecoveryCodes()
    const recoveryCodes = codes.map(recoveryHash)
    const change = { totp: { confirmedStep }, recoveryCodes }
    const mark = await store.people.credentials.set(userId, change, actBy(by, 'factor.confirm'))
    return { recovery_codes: codes, mark }
  }

  async removeFactor(by: By) {
    const { store } = this.#deps
    return { mark: await store.people.credentials.set(by.user!.id, { totp: null }, actBy(by, 'factor.remove')) }
  }

  async renewRecoveryCodes(by: By) {
    const { store } = this.#deps
    const userId = by.user!.id
    if ((await store.people.users.byId(userId))?.secondFactor !== true)
      throw new OperationError('conflict', both('尚未启用两步验证', 'there is no second factor'))
    const codes = newRecoveryCodes()
    const change = { recoveryCodes: codes.map(recoveryHash) }
    const mark = await store.people.credentials.set(userId, change, actBy(by, 'factor.recovery_codes'))
    return { recovery_codes: codes, mark }
  }

  /** `provenAtMs`: of the session; null where there is none. */
  async show(person: Person, provenAtMs: number | null) {
    const { store, clock, config } = this.#deps
    const memberships = await store.people.members.ofUser(person.id)
    const groups = memberships.flatMap(({ account }) => account.groups)
    return {
      id: person.publicId,
      email: person.email,
      name: person.name,
      operator: person.operator,
      has_password: person.hasPassword,
      second_factor: person.secondFactor,
      authenticator: person.authenticator,
      passkeys: person.passkeys,
      language: person.language,
      theme: person.theme,
      proven_until: provenAtMs === null ? null : iso(provenAtMs + PROOF_MS),
      accounts: memberships.map(({ account, role }) => ({
        id: account.publicId,
        name: account.name,
        status: account.status,
        role,
      })),
      announcements: announced(config().site, clock.now(), groups),
      notices: person.notices.map(({ kind, atMs }) => ({ kind, at: iso(atMs) })),
    }
  }

  change(by: By, form: z.output<typeof profileForm>): Promise<Person> {
    const { store } = this.#deps
    return store.people.users.update(by.user!.id, withoutUndefined(form), actBy(by, 'me.change'))
  }

  /** The old password is asked for, unless there is none. Ends all sessions. */
  async changePassword(by: By, form: z.output<typeof passwordForm>) {
    const { store, passwords } = this.#deps
    const { id, email, name } = by.user!
    const credentials = await store.people.credentials.of(id)
    const seat = { network: `user ${id}`, known: true }
    if (credentials?.password != null) {
      const counted = await tryStepUp(this.#deps, by.sessionId!)
      const { right } = await passwords.verify(form.old ?? '', credentials.password, seat)
      if (!right) throw new OperationError('forbidden', both('当前密码不正确', 'the old password is not right'))
      await counted.succeeded()
    }
    checkNew(form.new, [email, name])
    const phc = await passwords.hash(form.new, seat)
    return { mark: await store.people.credentials.set(id, { password: phc }, actBy(by, 'me.password')) }
  }

  /** A letter goes to the new address. Whether somebody else has it is not said. */
  async askForEmail(by: By, form: z.output<typeof emailForm>): Promise<void> {
    const { store, clock, mail, config } = this.#deps
    if (!mail.configured) throw NO_MAIL()
    const asker = by.user!
    await tryMail(this.#deps, 'email', form.email, by)
    if ((await store.people.users.byEmail(form.email)) !== null) return
    const { row, url } = newLink(config(), 'email', clock.now(), { email: form.email, userId: asker.id })
    await store.people.links.create(row, actBy(by, 'me.email'))
    mail.send(letter(config().site, 'email', form.email, url, by.language))
  }

  /** Whoever has the link has the new address. Ends all sessions. */
  async confirmEmail(by: By, form: z.output<typeof secretForm>): Promise<void> {
    const { store, clock } = this.#deps
    const counted = await tryUnknown(this.#deps, by.ip)
    const hash = hashOf(form.token)
    const link = await store.people.links.read('email', hash, clock.now())
    const person = link?.userId == null ? null : await store.people.users.byId(link.userId)
    if (person === null) throw LINK_GONE()
    const changed = await store.people.links.changeEmail(hash, clock.now(), actAs(person, by, 'me.email_confirmed'))
    if (changed === null) throw LINK_GONE()
    await counted.succeeded()
  }

  /** The keys that the person made are disabled. */
  async delete(by: By): Promise<void> {
    await this.#deps.store.people.users.delete(by.user!.id, actBy(by, 'me.delete'))
    await inForce(this.#deps)
  }

  clearNotices(by: By): Promise<void> {
    const { store } = this.#deps
    return store.people.users.clearNotices(by.user!.id)
  }

  async tokens(by: By) {
    const { store } = this.#deps
    return { data: (await store.people.tokens.list(by.user!.id)).map(shown), next: null }
  }

  async createToken(by: By, form: z.output<typeof tokenForm>) {
    const { store, clock } = this.#deps
    const createdAtMs = clock.now()
    const lifeMs = form.expires_at - createdAtMs
    if (lifeMs <= 0 || lifeMs > MOST_DAYS * DAY_MS)
      throw new OperationError(
        'invalid',
        both(
          `expires_at：应在未来 ${MOST_DAYS} 天之内`,
          `expires_at: expected a time within the next ${MOST_DAYS} days`,
        ),
      )
    const person = await store.people.users.byId(by.user!.id)
    if (form.scope === 'operator' && !(person?.operator && person.secondFactor))
      throw new OperationError(
        'forbidden',
        both('只有启用两步验证的运营人员可以创建此令牌', 'only operators with a second factor make such tokens'),
      )
    const secret = newPersonalToken()
    const token = {
      userId: by.user!.id,
      name: form.name,
      hash: hashOf(secret),
      hint: personalHint(secret),
      scope: form.scope,
      allowIps: form.allow_ips,
      createdAtMs,
      expiresAtMs: form.expires_at,
    }
    return { ...shown(await store.people.tokens.create(token, actBy(by, 'tokens.create'))), secret }
  }

  async endToken(by: By, id: string): Promise<void> {
    const { store } = this.#deps
    if (!(await store.people.tokens.end(by.user!.id, id, actBy(by, 'tokens.end'))))
      throw new OperationError('missing', both('没有此令牌', 'there is no such token'))
  }

  /** False = the identity belongs to a user already. */
  async linkProvider(by: By, vouched: Vouched): Promise<boolean> {
    const { store, clock } = this.#deps
    const { issuer, subject } = vouched
    if ((await store.people.identities.userOf(issuer, subject)) !== null) return false
    const identity = { issuer, subject, userId: by.user!.id, atMs: clock.now() }
    await store.people.identities.add(identity, actBy(by, 'identities.link'))
    return true
  }

  async identities(by: By) {
    const { store } = this.#deps
    const identities = await store.people.identities.list(by.user!.id)
    const data = identities.map(({ id, issuer, createdAtMs }) => ({
      id,
      issuer,
      created_at: iso(createdAtMs),
    }))
    return { data, next: null }
  }

  /** Who has no password keeps one way in. */
  async endIdentity(by: By, id: string): Promise<void> {
    const { store } = this.#deps
    if (!(await store.people.identities.end(by.user!.id, id, actBy(by, 'identities.end'))))
      throw new OperationError('missing', both('没有此关联', 'there is no such identity'))
  }
}
