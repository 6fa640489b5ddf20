/**
 * The ways in for people who have none: registration, invitations, and new passwords for those who lost theirs. Whether there
 * is a user with an e-mail is told to nobody but its owner: asking with an address that is known, unknown or not let in says
 * the same, after the same time.
 *
 * An invitation leads into an account with a role, or among the operators. It is bound to an e-mail, works once, and its secret
 * is shown once or mailed. A reset never switches a second factor off, and opens no session.
 */
import { iso } from '../../base/clock.ts'
import { z } from 'zod'
import { publicId } from '../../base/ids.ts'
import { type Person, ROLES, type Role } from '../../base/people.ts'
import { hashOf } from '../../base/secrets.ts'
import * as kind from '../../config/scalars.ts'
import type { Identified, Link } from '../../store/people/records.ts'
import type { Account } from '../../terms/records.ts'
import { OperationError, both } from '../error.ts'
import { type By, LINK_GONE, type PeopleDeps, type UserDeps, actAs, actBy, email, emailForm } from './deps.ts'
import { networkOf } from '../../base/network.ts'
import { newLink } from './links.ts'
import { letter } from './mail.ts'
import { checkNew, password } from './passwords.ts'
import { tryMail, tryUnknown } from './throttle.ts'

export const registrationForm = emailForm
export const registerForm = z.strictObject({ token: z.string().max(100), name: kind.name, password })

const CLOSED = () => new OperationError('forbidden', both('此网关不开放注册', 'nobody can register at this gateway'))

/** The most invitations into an account that can be used at one time. */
const MOST_OPEN = 100

export const invitationForm = z.strictObject({ email, role: z.enum(ROLES) })
export const acceptForm = z.strictObject({
  token: z.string().max(100),
  /** The name and the password of somebody who has no user yet. */
  name: kind.name.optional(),
  password: password.optional(),
})

const shown = (link: Link) => ({
  id: link.publicId,
  email: link.email ?? '',
  role: link.role,
  created_at: iso(link.createdAtMs),
  expires_at: iso(link.expiresAtMs),
})

/** Into whose account, and as what; or among the operators; or (both null) as a user of no account yet. */
export interface Into {
  account: Account | null
  role: Role | null
  operator: boolean
}

export const resetRequestForm = emailForm
export const resetForm = z.strictObject({ token: z.string().max(100), password })

export class Invitations {
  readonly #deps: UserDeps

  constructor(deps: UserDeps) {
    this.#deps = deps
  }

  async list(account: Account | null) {
    const { store, clock } = this.#deps
    const links = await store.people.links.invitations(account?.id ?? null, clock.now())
    return { data: links.map(shown), next: null }
  }

  /**
   * The answer is the same whether or not there is a user with this e-mail. Where there is mail, only operators see the
   * link: then whoever uses it has read the letter.
   */
  async make(by: By, to: string, { account, role, operator }: Into) {
    const { store, clock, config, mail } = this.#deps
    const nowMs = clock.now()
    if (mail.configured) await tryMail(this.#deps, 'invitation', to, by)
    const byOperator = by.user === null || by.user.operator
    const { row, url } = newLink(config(), 'invitation', nowMs, {
      email: to,
      accountId: account?.id ?? null,
      role,
      operator,
      doc: { by_operator: byOperator, by: by.user?.id ?? null },
    })
    const link = await store.people.links.createInvitation(row, MOST_OPEN, actBy(by, 'invitations.create'))
    mail.send(letter(config().site, 'invitation', to, url, by.language))
    return { ...shown(link), url: mail.configured && !byOperator ? null : url }
  }

  async revoke(by: By, account: Account | null, id: string): Promise<void> {
    const { store, clock } = this.#deps
    const act = actBy(by, 'invitations.revoke')
    if (!(await store.people.links.revokeInvitation(account?.id ?? null, id, clock.now(), act)))
      throw new OperationError('missing', both('没有此邀请', 'there is no such invitation'))
  }
}

export class WaysIn {
  readonly #deps: PeopleDeps

  constructor(deps: PeopleDeps) {
    this.#deps = deps
  }

  #checkOpen(): void {
    const { config } = this.#deps
    if (config().registration.mode !== 'open') throw CLOSED()
  }

  /** Sends a letter: with a link to somebody new, and without one to somebody who is a user already. */
  async askToRegister(by: By, { email }: z.output<typeof registrationForm>): Promise<void> {
    const { store, clock, config, mail } = this.#deps
    this.#checkOpen()
    await tryUnknown(this.#deps, by.ip)
    await tryMail(this.#deps, 'registration', email, by)
    const known = (await store.people.users.byEmail(email)) !== null
    const { row, url } = newLink(config(), 'registration', clock.now(), { email })
    await store.people.links.create(known ? { ...row, expiresAtMs: row.createdAtMs } : row, null)
    if (known) mail.send(letter(config().site, 'known', email, `${config().public.main}/console/sign-in`, by.language))
    else mail.send(letter(config().site, 'registration', email, url, by.language))
  }

  /** An account of its own goes with the user: the name tells nobody who it is. In a demo, whose payments are simulated, it is a test account. */
  #newAccount() {
    const { config } = this.#deps
    const { registration, payer } = config()
    const { groups, rate } = registration
    return { name: `u-${publicId()}`, groups, rate, sandbox: payer !== null }
  }

  async register(by: By, form: z.output<typeof registerForm>): Promise<Person> {
    const { store, clock, passwords } = this.#deps
    this.#checkOpen()
    const counted = await tryUnknown(this.#deps, by.ip)
    const hash = hashOf(form.token)
    const link = await store.people.links.read('registration', hash, clock.now())
    if (link === null) throw LINK_GONE()
    const email = link.email ?? ''
    checkNew(form.password, [email, form.name])
    const phc = await passwords.hash(form.password, { network: networkOf(by.ip), known: false })
    const atMs = clock.now()
    const user = { email, name: form.name, password: phc, operator: false, language: by.language, atMs }
    const person = await store.people.links.register(
      hash,
      atMs,
      user,
      this.#newAccount(),
      actBy(by, 'registration.register'),
    )
    if (person === null) throw LINK_GONE()
    await counted.succeeded()
    return person
  }

  /** Somebody whom a provider has vouched for, e-mail included, becomes a user where everybody may. */
  async registerVouched(
    by: By,
    { email, name, ...identity }: Identified & { email: string; name: string },
  ): Promise<Person | null> {
    this.#checkOpen()
    const { store, clock } = this.#deps
    const atMs = clock.now()
    const user = { email, name, password: null, operator: false, language: by.language, atMs }
    const act = actBy(by, 'registration.register')
    return store.people.links.register(null, atMs, user, this.#newAccount(), act, identity)
  }

  async #found(by: By, token: string): Promise<Link> {
    const counted = await tryUnknown(this.#deps, by.ip)
    const link = await this.#deps.store.people.links.read('invitation', hashOf(token), this.#deps.clock.now())
    if (link === null || !(await this.#stillStands(link))) throw LINK_GONE()
    await counted.succeeded()
    return link
  }

  /** Whoever has lost the right to invite leaves no way back in: an invitation works as long as its maker could make it. */
  async #stillStands({ doc, accountId }: Link): Promise<boolean> {
    const { store } = this.#deps
    const by = doc?.['by']
    if (typeof by !== 'number') return true // the admin token, or a command on the machine
    const maker = await store.people.users.byId(by)
    if (maker?.status !== 'active') return false
    return maker.operator || (accountId !== null && (await store.people.members.role(by, accountId)) === 'owner')
  }

  /** What the page shows before the person decides. It uses nothing up. */
  async lookAt(by: By, token: string) {
    const { store } = this.#deps
    const link = await this.#found(by, token)
    const account = link.accountId === null ? null : await store.accounts.byId(link.accountId)
    return {
      email: link.email ?? '',
      account: account?.name ?? null,
      role: link.role,
      operator: link.operator,
      expires_at: iso(link.expiresAtMs),
      /** Whether the caller is signed in as whom the invitation is for. Whether there is such a user is not said. */
      signed_in: by.user !== null && by.user.email === link.email,
    }
  }

  /** Somebody who has a user must be signed in as that user; anybody else gets one, with the e-mail of the invitation. */
  async accept(by: By, form: z.output<typeof acceptForm>): Promise<{ userId: number; isNew: boolean }> {
    const { store, clock, config } = this.#deps
    const most = config().limits.members
    const link = await this.#found(by, form.token)
    const person = await store.people.users.byEmail(link.email ?? '')
    const hash = hashOf(form.token)
    const act = actBy(by, 'invitations.accept')
    if (person !== null) {
      if (by.user?.id !== person.id)
        throw new OperationError(
          'forbidden',
          both('请先以被邀请的邮箱登录', 'sign in with the e-mail that is invited first'),
        )
      const done = await store.people.links.acceptInvitation(hash, clock.now(), { userId: person.id, most }, act)
      if (done === null) throw LINK_GONE()
      return { ...done, isNew: false }
    }
    const user = await this.#newUser(by, link, form)
    const done = await store.people.links.acceptInvitation(hash, clock.now(), { user, most }, act)
    if (done === null) throw LINK_GONE()
    return { ...done, isNew: true }
  }

  async #newUser(by: By, link: Link, form: z.output<typeof acceptForm>) {
    const { clock, config, passwords } = this.#deps
    if (link.doc?.['by_operator'] !== true && config().registration.mode === 'closed')
      throw new OperationError(
        'forbidden',
        both('此网关不接受新用户，请联系运营方', 'this gateway takes no new users: ask an operator'),
      )
    const { name, password: plain } = form
    if (name === undefined || plain === undefined)
      throw new OperationError('invalid', both('请填写姓名和密码', 'a name and a password are needed'))
    const address = link.email ?? ''
    checkNew(plain, [address, name])
    const phc = await passwords.hash(plain, { network: networkOf(by.ip), known: false })
    return { email: address, name, password: phc, operator: false, language: by.language, atMs: clock.now() }
  }

  /** By the person, who has no session. Says the same for every address, also where nothing can be sent. */
  async askForReset(by: By, { email }: z.output<typeof resetRequestForm>): Promise<void> {
    const { store, clock, config, mail } = this.#deps
    if (!mail.configured)
      throw new OperationError(
        'conflict',
        both('此网关未配置邮件，请联系运营方', 'this gateway sends no mail: ask an operator'),
      )
    await tryUnknown(this.#deps, by.ip)
    await tryMail(this.#deps, 'reset', email, by)
    const person = await store.people.users.byEmail(email)
    const known = person?.status === 'active' ? person : null
    const { row, url } = newLink(config(), 'reset', clock.now(), { userId: known?.id ?? null })
    const asked = known === null ? null : actAs(known, by, 'resets.ask')
    await store.people.links.create(known === null ? { ...row, expiresAtMs: row.createdAtMs } : row, asked)
    if (known !== null) mail.send(letter(config().site, 'reset', email, url, by.language))
  }

  async reset(by: By, form: z.output<typeof resetForm>): Promise<void> {
    const { store, clock, passwords } = this.#deps
    const counted = await tryUnknown(this.#deps, by.ip)
    const hash = hashOf(form.token)
    const link = await store.people.links.read('reset', hash, clock.now())
    const person = link?.userId == null ? null : await store.people.users.byId(link.userId)
    if (person === null) throw LINK_GONE()
    checkNew(form.password, [person.email, person.name])
    const phc = await passwords.hash(form.password, { network: networkOf(by.ip), known: false })
    const done = await store.people.links.resetPassword(hash, clock.now(), phc, actAs(person, by, 'resets.reset'))
    if (done === null) throw LINK_GONE()
    await counted.succeeded()
  }
}
