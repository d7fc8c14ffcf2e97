;;; sould-sync.el --- What buffers hold, told to sould  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Reports the text of buffers, change by change, and writes into them what agents and decisions make of it.  Such an edit is as
;; small as it can be: it joins the undo list and leaves point where it is.  A buffer is saved only when the server says so, which
;; it does for those that were saved before.  Nothing here draws, selects a window or asks the user.

;;; Code:

(require 'sould-project)

(defvar-local sould-sync--project nil "The project that is told about this buffer; nil while it is not reported.")
(defvar-local sould-sync--path nil "The true name of this buffer's file, as it was reported.")
(defvar-local sould-sync--version 0 "The version of the text that was reported last.")
(defvar-local sould-sync--changes nil "Changes that are not reported yet, newest first; t is the whole text.")
(defvar-local sould-sync--before nil "What the change that is being made replaces: BEGIN END RANGE TEXT.")
(defvar-local sould-sync--absent nil
  "Whether the file is gone, and what the buffer still shows is not reported.")
(defvar-local sould-sync--timer nil "Reports what was typed, soon.")

(defvar-local sould-sync-changed nil "When the text of this buffer was changed last, as a float; nil before.")
(defvar sould-sync-hidden nil
  "Files that are visited for calls of agents only, one for each call.
They are not reported.")

(defcustom sould-report-delay 0.1
  "Seconds in which what you type is gathered before sould is told."
  :type 'number
  :group 'sould)

(defconst sould-sync--most-changes 200 "More changes than these are sent as one text.")
(defconst sould-sync--compared 2000 "Characters up to which it is looked whether a change changes anything.")

;;;; Which buffers

(defun sould-sync-open ()
  "Report the current buffer, which visits a file, from now on."
  (unless sould-sync--project
    (setq sould-sync--project (sould-project-current t)
          sould-sync--path (file-truename buffer-file-name))
    (dolist (each sould-sync--hooks)
      (add-hook (car each) (cdr each) nil t))
    (sould-sync--report-open)))

(defun sould-sync-close ()
  "Report the current buffer no more."
  (when sould-sync--project
    (dolist (each sould-sync--hooks)
      (remove-hook (car each) (cdr each) t))
    (when sould-sync--timer
      (cancel-timer sould-sync--timer))
    (sould-sync--notify "didClose" nil)
    (setq sould-sync--project nil sould-sync--changes nil sould-sync--timer nil)))

(defconst sould-sync--hooks
  '((before-change-functions . sould-sync--before-change)
    (after-change-functions . sould-sync--after-change)
    (after-save-hook . sould-sync--saved)
    (before-revert-hook . sould-sync-close)
    (after-revert-hook . sould-sync-open)
    (after-set-visited-file-name-hook . sould-sync--renamed)
    (change-major-mode-hook . sould-sync-close)
    (kill-buffer-hook . sould-sync-close))
  "What a reported buffer is watched by.")

(defun sould-sync-buffers (project)
  "The buffers that are reported to PROJECT."
  (seq-filter (lambda (buffer) (eq (buffer-local-value 'sould-sync--project buffer) project)) (buffer-list)))

(defun sould-sync-buffer (path)
  "The reported buffer whose file is PATH, or nil."
  (let ((true (file-truename path)))
    (seq-find (lambda (buffer)
                (and (buffer-local-value 'sould-sync--project buffer)
                     (member (buffer-local-value 'sould-sync--path buffer) (list path true))))
              (buffer-list))))

(defun sould-sync--renamed ()
  "The buffer visits another file now."
  (sould-sync-close)
  (when buffer-file-name
    (setq sould-project--of-buffer nil)
    (sould-sync-open)))

(defun sould-sync--ready (project)
  "Tell PROJECT all that is open."
  (dolist (buffer (sould-sync-buffers project))
    (with-current-buffer buffer
      (sould-sync--report-open))))

(add-hook 'sould-project-ready-functions #'sould-sync--ready)

;;;; Reporting

(defun sould-sync--notify (event params)
  "Report EVENT about the current buffer, with PARAMS beside its name."
  (sould-project-notify sould-sync--project (concat "textDocument/" event)
                        (append (list :textDocument (list :uri (sould-project-uri sould-sync--path)
                                                          :version sould-sync--version))
                                params)))

(defun sould-sync--report-open ()
  "Report that the current buffer is open."
  (setq sould-sync--changes nil sould-sync--absent nil)
  (cl-incf sould-sync--version)
  (sould-project-notify sould-sync--project "textDocument/didOpen"
                        (list :textDocument (list :uri (sould-project-uri sould-sync--path)
                                                  :languageId (string-remove-suffix "-mode" (symbol-name major-mode))
                                                  :version sould-sync--version
                                                  :text (sould-sync-text)))))

(defun sould-sync--dos-p ()
  "Whether lines of this buffer's file end in CR LF."
  (eq 1 (coding-system-eol-type buffer-file-coding-system)))

(defun sould-sync--outward (text)
  "TEXT of the current buffer as its file has it."
  (if (sould-sync--dos-p) (string-replace "\n" "\r\n" text) text))

(defun sould-sync-text ()
  "The whole text of the current buffer as its file has it."
  (save-restriction
    (widen)
    (sould-sync--outward (buffer-substring-no-properties (point-min) (point-max)))))

(defun sould-sync-position (place)
  "PLACE as the protocol counts: the line, and UTF-16 units in it."
  (save-excursion
    (goto-char place)
    (let ((begin (line-beginning-position)))
      (list :line (1- (line-number-at-pos place t))
            :character (+ (- place begin)
                          (how-many "[\x10000-\x10ffff]" begin place))))))

(defun sould-sync--before-change (begin end)
  "Remember what is between BEGIN and END."
  (setq sould-sync--before
        (unless (eq sould-sync--changes t)
          (save-match-data
            (save-restriction
              (widen)
              (list begin end
                    (list :start (sould-sync-position begin) :end (sould-sync-position end))
                    (when (< (- end begin) sould-sync--compared)
                      (buffer-substring-no-properties begin end))))))))

(defun sould-sync--after-change (begin end length)
  "Take what is between BEGIN and END now, where LENGTH characters were."
  (let ((before sould-sync--before)
        (text (buffer-substring-no-properties begin end)))
    (setq sould-sync--before nil sould-sync-changed (float-time))
    (cond ((eq sould-sync--changes t))
          ((and before (equal text (nth 3 before)) (= begin (car before))))
          ((and before (= begin (car before)) (= length (- (nth 1 before) begin))
                (not (string-search "\r" text))
                (< (length sould-sync--changes) sould-sync--most-changes))
           (push (list :range (nth 2 before) :text (sould-sync--outward text)) sould-sync--changes))
          (t (setq sould-sync--changes t)))
    (when (and sould-sync--changes (not sould-sync--timer))
      (setq sould-sync--timer (run-at-time sould-report-delay nil #'sould-sync--later (current-buffer))))))

(defun sould-sync--later (buffer)
  "Report what was typed in BUFFER."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (sould-sync-flush))))

(defun sould-sync-flush ()
  "Report what was typed in the current buffer and is not reported yet."
  (when sould-sync--timer
    (cancel-timer sould-sync--timer)
    (setq sould-sync--timer nil))
  (when-let ((changes sould-sync--changes))
    (setq sould-sync--changes nil)
    (cond
     ((not sould-sync--project))
     (sould-sync--absent (sould-sync--report-open))
     (t
      (cl-incf sould-sync--version)
      (sould-sync--notify "didChange"
                          (list :contentChanges (if (eq changes t)
                                                    (vector (list :text (sould-sync-text)))
                                                  (vconcat (reverse changes)))))
      (unless (buffer-modified-p)  ; undone up to the saved text
        (sould-sync--notify "didSave" nil))))))

(defun sould-sync-flush-all (project)
  "Report what was typed in buffers of PROJECT and is not reported yet."
  (dolist (buffer (sould-sync-buffers project))
    (with-current-buffer buffer
      (sould-sync-flush))))

(defun sould-sync--saved ()
  "Report that the current buffer was saved."
  (cond (sould-sync--changes (sould-sync-flush))
        (sould-sync--absent (sould-sync--report-open))
        (t (sould-sync--notify "didSave" nil))))

;;;; Writing

(defun sould-sync--write (params)
  "Put the text of PARAMS into its buffer, save it if they say so, and answer."
  (let ((buffer (sould-sync-buffer (plist-get params :path))))
    (if (not buffer)
        '(:outcome "outdated")
      (with-current-buffer buffer
        (sould-sync-flush)
        (if (or (sould-sync--outdated-p (plist-get params :version))
                (sould-sync-reload))
            '(:outcome "outdated")
          (sould-sync--put (plist-get params :text))
          (let ((saved (and (plist-get params :save) (sould-sync-save)))
                (text (progn (sould-sync-flush) (sould-sync-text))))
            (append (list :outcome "written" :saved (if saved t :false) :version sould-sync--version)
                    (unless (equal text (plist-get params :text))
                      (list :text text)))))))))

(defun sould-sync--outdated-p (version)
  "Whether VERSION is not that of the current buffer's text.
The whole text is then reported: a change may have been lost with a
server that was killed."
  (unless (= sould-sync--version version)
    (setq sould-sync--changes t)
    (sould-sync-flush)
    t))

(setq sould-project-write-function #'sould-sync--write)

(defun sould-sync--put (text)
  "Make TEXT, as a file has it, the text of the current buffer.
One step of undo; point and marks stay where their text stays."
  (let ((text (if (sould-sync--dos-p) (string-replace "\r\n" "\n" text) text))
        (inhibit-read-only t))
    (save-restriction
      (widen)
      (let* ((old (buffer-substring-no-properties (point-min) (point-max)))
             (head (sould-sync--common old text))
             (tail (sould-sync--common-end old text head)))
        (unless (and (= head (length old)) (= head (length text)))
          (undo-boundary)
          (sould-sync--replace (+ (point-min) head) (- (point-max) tail) (substring text head (- (length text) tail)))
          (undo-boundary))))))

(defun sould-sync--common (one other)
  "How many characters at the beginning ONE and OTHER share."
  (let ((difference (compare-strings one nil nil other nil nil)))
    (if (eq difference t) (length one) (1- (abs difference)))))

(defun sould-sync--common-end (one other head)
  "How many characters at the end ONE and OTHER share behind the first HEAD."
  (let ((most (- (min (length one) (length other)) head))
        (ends (length one)) (other-ends (length other)) (count 0))
    (while (and (< count most) (eq (aref one (- ends count 1)) (aref other (- other-ends count 1))))
      (cl-incf count))
    count))

(defun sould-sync--replace (begin end text)
  "Put TEXT between BEGIN and END, changing only what differs."
  (let ((here (current-buffer)))
    (if (or (= begin end) (string-empty-p text))
        (save-excursion
          (goto-char begin)
          (delete-region begin end)
          (insert text))
      (with-temp-buffer
        (insert text)
        (let ((source (current-buffer)))
          (with-current-buffer here
            (save-excursion
              (save-restriction ; undone before point is put back, which may be before BEGIN
                (narrow-to-region begin end)
                (replace-buffer-contents source 0.5)))))))))

(defun sould-sync-save ()
  "Save the current buffer as its user would; whether it is saved."
  (let ((save-silently t)
        (inhibit-message t)
        (coding (or buffer-file-coding-system 'utf-8)))
    (condition-case failure
        (cond ((unencodable-char-position (point-min) (point-max) coding)
               (sould-sync--tell "%s cannot hold its text" coding))
              (t (let ((coding-system-for-write coding))
                   (basic-save-buffer))
                 (not (buffer-modified-p))))
      (error (sould-sync--tell "%s" (error-message-string failure))))))

(defun sould-sync--tell (why &rest arguments)
  "Say that the current buffer is not saved, and WHY, with ARGUMENTS; nil."
  (let (inhibit-message)
    (message "sould: %s is not saved: %s" (buffer-name) (apply #'format why arguments))
    nil))

(defun sould-sync-look ()
  "Follow what became of the current buffer's file, unless text is unsaved here."
  (cond ((buffer-modified-p))
        ((not (file-exists-p buffer-file-name))
         (unless sould-sync--absent
           (sould-sync-flush)
           (sould-sync--notify "didClose" nil)
           (setq sould-sync--absent t)))
        (sould-sync--absent
         (set-visited-file-modtime)
         (sould-sync--put (sould-sync--file-text))
         (set-buffer-modified-p nil)
         (sould-sync--report-open))
        (t (sould-sync-reload))))

(defun sould-sync-reload ()
  "Take the file's text if others changed it and nothing here is unsaved.
Whether there was something to take."
  (when (and buffer-file-name (not (buffer-modified-p)) (not (verify-visited-file-modtime))
             (file-readable-p buffer-file-name))
    (let ((text (progn (set-visited-file-modtime) (sould-sync--file-text)))) ; in this order: a change in between is seen later
      (sould-sync--put text)
      (set-buffer-modified-p nil)
      (sould-sync-flush)
      t)))

(defun sould-sync--file-text ()
  "The text of the current buffer's file, read as the buffer was."
  (let ((file buffer-file-name) (coding buffer-file-coding-system) (dos (sould-sync--dos-p)))
    (with-temp-buffer
      (let ((coding-system-for-read coding))
        (insert-file-contents file))
      (if dos (string-replace "\n" "\r\n" (buffer-string)) (buffer-string)))))

(provide 'sould-sync)
;;; sould-sync.el ends here
