-- Anonymous telemetry: the fields of the block, the day, and a random id. No key, no token, no time finer than a day,
-- no order of arrival: nothing here can be followed to a license or to another row of the same machine.

create table telemetry_inbox (
  id uuid primary key,
  received_on date not null,
  app_version                     text,
  os_version                      text,
  mac_model                       text,
  arch                            text,
  cpu_cores                       integer,
  ram_gb_bucket                   text,
  camera_count                    integer,
  detector_type                   text,
  uptime_hours                    integer,
  crash_count_since_last          integer,
  soc_name                        text,
  detector_compute                text,
  recent_inference_ms             integer,
  detector_compute_units_resolved text,
  unlock_retry_outcome            text,
  crash_kind                      text,
  crash_signal                    text,
  crash_label                     text,
  crash_frame                     text,
  crash_sig                       text,
  crash_uptime_secs               integer,
  crash_frame_source              text,
  crash_app_version               text,
  crash_abort_reason              text
);
create index telemetry_inbox_received_on on telemetry_inbox (received_on);

-- The day's rows wait in the inbox and move over after midnight in the order of their random ids. No default partition:
-- it would forbid detaching a month without a lock.
create table telemetry (
  like telemetry_inbox
) partition by range (received_on);
create index telemetry_received_on on telemetry (received_on);

comment on table telemetry_inbox is 'Telemetry received today, until the night.';
comment on column telemetry_inbox.id is 'Random; made for this row alone. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.received_on is 'The day (UTC) it was received. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.app_version is 'Application version. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.os_version is 'Operating-system name and version. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.mac_model is 'Hardware model identifier. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.arch is 'CPU architecture. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.cpu_cores is 'CPU core count. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.ram_gb_bucket is 'Memory size bucket in GB. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.camera_count is 'Count of cameras, never anything about them. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.detector_type is 'Detector backend type. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.uptime_hours is 'Uptime in hours. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.crash_count_since_last is 'Crashes since the previous heartbeat. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.soc_name is 'Name of the system-on-chip. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.detector_compute is 'The compute target configured: ane or gpu. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.recent_inference_ms is 'Most recent detector latency in milliseconds. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.detector_compute_units_resolved is 'Which compute units the detector actually got. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.unlock_retry_outcome is 'Whether the launch-time license check had to retry, and how it ended. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.crash_kind is 'After a crash: native, python or unknown. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.crash_signal is 'After a native crash: the OS signal name. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.crash_label is 'After a crash: faulting binary or exception type. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.crash_frame is 'After a crash: application-relative frame, module.path.function:line. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.crash_sig is 'After a crash: 16 hex digits that group like crashes. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.crash_uptime_secs is 'After a crash: seconds the crashed run had lived. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.crash_frame_source is 'After a crash: which rule picked the frame. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.crash_app_version is 'After a crash: the build whose line numbers the frame belongs to. Moves to telemetry after midnight UTC.';
comment on column telemetry_inbox.crash_abort_reason is 'After an abort: its known category, never the message. Moves to telemetry after midnight UTC.';

comment on table telemetry is 'Telemetry of past days, a partition a month.';
comment on column telemetry.id is 'Random; made for this row alone. Kept 24 months from received_on.';
comment on column telemetry.received_on is 'The day (UTC) it was received. Kept 24 months from received_on.';
comment on column telemetry.app_version is 'Application version. Kept 24 months from received_on.';
comment on column telemetry.os_version is 'Operating-system name and version. Kept 24 months from received_on.';
comment on column telemetry.mac_model is 'Hardware model identifier. Kept 24 months from received_on.';
comment on column telemetry.arch is 'CPU architecture. Kept 24 months from received_on.';
comment on column telemetry.cpu_cores is 'CPU core count. Kept 24 months from received_on.';
comment on column telemetry.ram_gb_bucket is 'Memory size bucket in GB. Kept 24 months from received_on.';
comment on column telemetry.camera_count is 'Count of cameras, never anything about them. Kept 24 months from received_on.';
comment on column telemetry.detector_type is 'Detector backend type. Kept 24 months from received_on.';
comment on column telemetry.uptime_hours is 'Uptime in hours. Kept 24 months from received_on.';
comment on column telemetry.crash_count_since_last is 'Crashes since the previous heartbeat. Kept 24 months from received_on.';
comment on column telemetry.soc_name is 'Name of the system-on-chip. Kept 24 months from received_on.';
comment on column telemetry.detector_compute is 'The compute target configured: ane or gpu. Kept 24 months from received_on.';
comment on column telemetry.recent_inference_ms is 'Most recent detector latency in milliseconds. Kept 24 months from received_on.';
comment on column telemetry.detector_compute_units_resolved is 'Which compute units the detector actually got. Kept 24 months from received_on.';
comment on column telemetry.unlock_retry_outcome is 'Whether the launch-time license check had to retry, and how it ended. Kept 24 months from received_on.';
comment on column telemetry.crash_kind is 'After a crash: native, python or unknown. Kept 24 months from received_on.';
comment on column telemetry.crash_signal is 'After a native crash: the OS signal name. Kept 24 months from received_on.';
comment on column telemetry.crash_label is 'After a crash: faulting binary or exception type. Kept 24 months from received_on.';
comment on column telemetry.crash_frame is 'After a crash: application-relative frame, module.path.function:line. Kept 24 months from received_on.';
comment on column telemetry.crash_sig is 'After a crash: 16 hex digits that group like crashes. Kept 24 months from received_on.';
comment on column telemetry.crash_uptime_secs is 'After a crash: seconds the crashed run had lived. Kept 24 months from received_on.';
comment on column telemetry.crash_frame_source is 'After a crash: which rule picked the frame. Kept 24 months from received_on.';
comment on column telemetry.crash_app_version is 'After a crash: the build whose line numbers the frame belongs to. Kept 24 months from received_on.';
comment on column telemetry.crash_abort_reason is 'After an abort: its known category, never the message. Kept 24 months from received_on.';
