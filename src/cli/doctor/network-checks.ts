import { Config, ConfigError } from '../../core/config.js';
import { isIpHost } from '../../core/connection-urls.js';
import { freePort } from '../../database/embedded/free-port.js';
import { listenFailure } from '../../server/listen-failure.js';
import { Mailer } from '../../mail/mailer.js';
import { causeOf, certificateFault } from '../manifest/request-faults.js';
import { RESPONSE_TIMEOUTS_MS } from '../context/response-timeouts.js';
import { CommandError } from '../terminal/output.js';
import type { Report } from './report.js';

/** Failures whose remedy may be another value of SMTP_URL. */
const WRONG_SMTP_URL = /sign-in|TLS|EDNS|ENOTFOUND/;

/** Checks the mail server: the connection, TLS and the sign-in. No mail is sent. */
export async function checkMail(config: Config, report: Report): Promise<void> {
  if (!config.smtpUrl) {
    // As in the warnings of `mooring status`, this is a fault in production only.
    if (config.isProduction)
      report.warn('mail server', 'SMTP_URL is not set: mail is written to DATA_DIR/outbox and not sent.');
    else report.ok('mail server', 'SMTP_URL is not set: mail is written to DATA_DIR/outbox.');
    return;
  }
  await report.run('mail server', async () => {
    const failure = await new Mailer(config, { mailImage: null }).verify();
    if (failure === null) return 'The mail server of SMTP_URL accepts the connection and the sign-in.';
    const sentence = `SMTP_URL cannot be used, because ${failure}: correct it, or start the server (docs/operations/mail.md).`;
    throw WRONG_SMTP_URL.test(failure) ? new ConfigError(sentence) : new CommandError(sentence);
  });
}

/** Checks that the ports are free, or used by Mooring itself. */
export async function checkPorts(config: Config, report: Report): Promise<void> {
  const { host, port, metricsPort, isPortShared } = config;
  await report.run('port', async () => {
    // A port of 0 is never in use, so this fails only if the system cannot share a port, or has no such HOST.
    if (isPortShared)
      await freePort(0, host, isPortShared).catch((error: NodeJS.ErrnoException) => {
        throw new ConfigError(listenFailure(config, error.code));
      });
    return checkPort('PORT', host, port);
  });
  if (metricsPort)
    await report.run('metrics port', () => checkPort('METRICS_PORT', host, metricsPort, '/metrics'));
}

async function checkPort(setting: string, host: string, port: number, path?: string): Promise<string> {
  try {
    await freePort(port, host);
    return `${setting} ${port} of ${host} is free.`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && (await isMooringAt(host, port, path)))
      return `${setting} ${port} of ${host} is used: an instance of Mooring answers there, of this or another installation.`;
    throw new ConfigError(listenFailure({ host, port, isPortShared: false }, code, setting));
  }
}

/** Requests a probe from PUBLIC_URL. Without an answer the check only warns, because nothing answers before the first start. */
export async function checkPublicUrl({ publicUrl }: Config, report: Report): Promise<void> {
  if (isIpHost(new URL(publicUrl).hostname))
    report.warn(
      'public URL',
      `Browsers create no passkey for ${publicUrl}, an IP address: give PUBLIC_URL a host name, so that staff can sign in (docs/operations/staff.md).`,
    );
  const fault = await faultOf(`${publicUrl}/health/live`);
  if (fault === null) return report.ok('public URL', `${publicUrl} answers from this machine.`);
  const text = `${publicUrl} does not answer as Mooring from this machine (${causeOf(fault)}): start the service and the proxy, or correct PUBLIC_URL.`;
  report.warn('public URL', certificateFault(publicUrl, fault) ?? text);
}

/** Whether Mooring answers on a port of this machine. */
export async function isMooringAt(host: string, port: number, path = '/health/live'): Promise<boolean> {
  const name = /^(0\.0\.0\.0|::)$/.test(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return (await faultOf(`http://${name}:${port}${path}`)) === null;
}

/** Requests a URL. @returns null if it answers as a probe or the metrics of Mooring do, otherwise the error */
async function faultOf(url: string): Promise<unknown> {
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(RESPONSE_TIMEOUTS_MS.probe),
    });
    const text = await response.text();
    if (!response.ok) return new Error(`status ${response.status}`);
    return text === '{"status":"ok"}' || text.includes('\nmooring_') ? null : new Error('another answer');
  } catch (error) {
    return error;
  }
}
